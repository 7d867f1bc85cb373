"""Writes the JSON Schemas of all kinds of file, which editors complete and check YAML with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.app.file import App
from headrace.config.lake_table.file import LakeTable
from headrace.config.stream.file import Stream
from headrace.config.workspace.workspace import WorkspaceFile

if TYPE_CHECKING:
    from headrace.config.common.model import Model

FOLDER = Path(__file__).resolve().parent.parent / "headrace" / "config" / "json_schemas"
MODELS: dict[str, type[Model]] = {
    "headrace": WorkspaceFile,
    "stream": Stream,
    "lake_table": LakeTable,
    "app": App,
}


def schema_text(model: type[Model]) -> str:
    """Return a model's JSON Schema as the file holds it."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | schema, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write one file per kind."""
    FOLDER.mkdir(exist_ok=True)
    for name, model in MODELS.items():
        path = FOLDER / f"{name}.schema.json"
        path.write_text(schema_text(model), encoding="utf-8")
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
