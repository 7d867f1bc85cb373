"""From a model's refusals to located sentences for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from headrace.problems import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from headrace.config.common.model import Model
    from headrace.config.yaml.document import Document, KeyPath

M = TypeVar("M", bound="Model")

_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "dict_type": "a mapping (key: value)",
    "tuple_type": "a list",
    "list_type": "a list",
}


def validated(document: Document, model: type[M]) -> M | None:
    """Return the document as a model; where it is none, add every reason to its problems."""
    try:
        return model.model_validate(document.data)
    except ValidationError as problem:
        for error in problem.errors(include_url=False, include_input=False):
            _report(document, error)
        return None


def _report(document: Document, error: ErrorDetails) -> None:
    kind = error["type"]
    is_key = kind in {"missing", "extra_forbidden"} or error["loc"][-1:] == ("[key]",)
    path = real_path(document.data, error["loc"], missing=kind == "missing")
    if any(path[:end] in document.unusable for end in range(len(path) + 1)):
        return
    if kind == "extra_forbidden":
        suggestion = did_you_mean(str(path[-1]), error["ctx"]["known"])
        document.report(path, f'unknown key "{path[-1]}"', suggestion, key=True)
    elif kind == "missing":
        inside = f' in "{_named(path[:-1])}"' if len(path) > 1 else ""
        parent = path[:-1]
        at_item = bool(parent) and isinstance(parent[-1], int)
        advice = f'add "{path[-1]}: …"'
        document.report(parent, f'missing key "{path[-1]}"{inside}', advice, key=not at_item)
    elif is_key:
        message = f'"{path[-1]}" is not a name that can be used'
        wanted = error.get("ctx", {}).get("wanted", "")
        document.report(path, message, f"use {wanted}" if wanted else "", key=True)
    else:
        _report_value(document, path, error)


def _report_value(document: Document, path: KeyPath, error: ErrorDetails) -> None:
    kind, context = error["type"], error.get("ctx", {})
    secret = document.position(path).secret
    got = shown(document, path)
    if kind == "literal_error":
        words = [
            word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")
        ]
        _report_choice(document, path, words)
    elif kind == "union_tag_invalid":
        words = [word.strip("' ") for word in str(context["expected_tags"]).split(",")]
        _report_choice(document, (*path, "type"), words)
    elif kind == "union_tag_not_found":
        message = f'missing key "type" in "{_named(path)}"'
        document.report(path, message, 'add "type: …"', key=True)
    elif kind == "refused":
        reason = f": {context['reason']}" if context["reason"] and not secret else ""
        advice = "" if secret else context["advice"]
        document.report(path, f"expected {context['wanted']}, got {got}{reason}", advice)
    elif kind == "unseen":
        document.report(path, f"expected {context['wanted']}")
    elif kind == "too_short":
        if document.get(*path):
            return  # only the good items are counted, and the bad ones are reported one by one
        document.report(path, f'"{_named(path)}" needs at least {context["min_length"]}')
    elif kind == "greater_than":
        document.report(path, f"expected a number above {context['gt']:g}, got {got}")
    elif kind == "less_than_equal":
        document.report(path, f"expected a number up to {context['le']:g}, got {got}")
    else:
        wanted = _WANTED.get(kind, "another value")
        quoted = f'put it in quotes: "{document.position(path).raw}"'
        is_number = isinstance(document.get(*path), int | float) and kind == "string_type"
        document.report(path, f"expected {wanted}, got {got}", quoted if is_number else "")


def _report_choice(document: Document, path: KeyPath, words: list[str]) -> None:
    value = document.get(*path)
    expected = ", ".join(words[:-1]) + f" or {words[-1]}" if len(words) > 1 else words[0]
    is_open = isinstance(value, str) and not document.position(path).secret
    near = did_you_mean(str(value), words) if is_open else ""
    suggestion = near if near.startswith("did") else ""
    document.report(path, f"expected {expected}, got {shown(document, path)}", suggestion)


def shown(document: Document, path: KeyPath) -> str:
    """Return a value as it was written, never what was filled in."""
    value = document.get(*path)
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    raw = document.position(path).raw
    if value is None or raw is None:
        return "nothing"
    line = " ".join(raw.split()) if "\n" in raw else raw
    short = line if len(line) <= 60 else f"{line[:57]}…"
    return f'"{short}"' if isinstance(value, str) or "${" in raw else short


def _named(path: KeyPath) -> str:
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.lstrip(".")


def real_path(data: object, loc: tuple[str | int, ...], *, missing: bool) -> KeyPath:
    """Return the loc without what is no step in the file: union tags, and the mark of a key."""
    path: list[str | int] = []
    here: Any = data
    for number, part in enumerate(loc):
        is_step = (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        )
        if is_step and not _is_tag(here, part, loc[number + 1 :]):
            here = here[part]
            path.append(part)
        elif missing and number == len(loc) - 1:
            path.append(part)
    return tuple(path)


def _is_tag(here: Any, part: str | int, rest: tuple[str | int, ...]) -> bool:  # noqa: ANN401 - a file's data
    """Whether a part is a union's tag that has the name of a key: `type: stream` beside `stream`."""
    is_leaf = isinstance(here, dict) and not isinstance(here[part], dict | list)
    return is_leaf and bool(rest) and rest[0] in here
