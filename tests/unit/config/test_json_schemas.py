from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from tests.unit.config.workspaces import APP, FULL_STREAM, HEADRACE, LAKE_TABLE, STREAM
from tools.write_json_schemas import FOLDER, MODELS, schema_text

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("name", MODELS)
def test_json_schemas_are_current(name: str) -> None:
    written = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert written == schema_text(MODELS[name]), "run: make generated"


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("headrace", HEADRACE),
        ("stream", STREAM),
        ("stream", FULL_STREAM),
        ("lake_table", LAKE_TABLE),
        ("app", APP),
    ],
)
def test_the_examples_fit_their_json_schemas(name: str, example: str) -> None:
    schema = MODELS[name].model_json_schema()
    data = YAML(typ="safe", pure=True).load(example)
    assert list(_misfits(data, schema, schema["$defs"], "")) == []


@pytest.mark.parametrize("name", ["stream", "lake_table"])
def test_only_a_file_for_many_topics_may_leave_out_its_topic(name: str) -> None:
    schema = MODELS[name].model_json_schema()
    assert {"cluster", "topic"}.isdisjoint(schema["$defs"]["KafkaSource"]["required"])
    assert schema["if"] == {"not": {"required": ["for_each"]}}
    assert schema["then"]["properties"]["source"]["required"] == ["cluster", "topic"]


def test_the_examples_of_the_documentation_fit() -> None:
    documentation = (FOLDER.parents[2] / "docs/files.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", documentation, re.DOTALL)
    wholes = [YAML(typ="safe", pure=True).load(one) for one in blocks]
    for whole in (one for one in wholes if "kind" in one):
        schema = MODELS[whole["kind"]].model_json_schema()
        assert list(_misfits(whole, schema, schema["$defs"], "")) == []
    parts = {key: value for one in wholes if "kind" not in one for key, value in one.items()}
    of_streams = ["source", "hygiene", "overrides"]
    assert {"clusters", *of_streams} <= set(parts)
    examples = {"headrace": [key for key in parts if key not in of_streams]}
    examples |= {"stream": of_streams}
    for name, keys in examples.items():
        schema = MODELS[name].model_json_schema()
        misfits = _misfits({key: parts[key] for key in keys}, schema, schema["$defs"], "")
        missing = {f"/{key}" for key in schema.get("required", ())}
        assert set(misfits) <= missing


def test_a_misfit_is_seen() -> None:
    schema = MODELS["lake_table"].model_json_schema()
    data = YAML(typ="safe", pure=True).load(LAKE_TABLE)
    data["table"]["target_file_size"] = "128 apples, 3"
    data["batch"]["max"] = 1
    del data["name"]
    assert set(_misfits(data, schema, schema["$defs"], "")) == {
        "/table/target_file_size",
        "/batch/max",
        "/name",
    }


def test_every_key_is_documented() -> None:
    for model in MODELS.values():
        schema = model.model_json_schema()
        for one in (schema, *schema["$defs"].values()):
            for key, described in one.get("properties", {}).items():
                is_documented = described.get("description") or "$ref" in described
                assert is_documented, f"{one['title']}.{key}"


def _misfits(data: Any, schema: dict[str, Any], defs: dict[str, Any], at: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Give the places that a JSON Schema forbids; knows what our schemas use of JSON Schema."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rsplit("/", 1)[1]]
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        if all(list(_misfits(data, choice, defs, at)) for choice in choices):
            yield at
    elif isinstance(data, dict):
        yield from _misfits_in(data, schema, defs, at)
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _misfits(value, schema.get("items", {}), defs, f"{at}/{number}")
    elif not _fits(data, schema):
        yield at


def _misfits_in(
    data: dict[str, Any], schema: dict[str, Any], defs: dict[str, Any], at: str
) -> Iterator[str]:
    properties = schema.get("properties", {})
    yield from (f"{at}/{key}" for key in schema.get("required", ()) if key not in data)
    for key, value in data.items():
        inner = properties.get(key, schema.get("additionalProperties", True))
        if inner is False:
            yield f"{at}/{key}"
        elif inner is not True:
            yield from _misfits(value, inner, defs, f"{at}/{key}")


def _fits(data: object, schema: dict[str, Any]) -> bool:
    wrong_text = isinstance(data, str) and not re.search(schema.get("pattern", ""), data)
    if wrong_text or data not in schema.get("enum", [schema.get("const", data)]):
        return False
    types = schema.get("type", [])
    named = [types] if isinstance(types, str) else types
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
    }
    return not named or any(one in kinds and isinstance(data, kinds[one]) for one in named)
