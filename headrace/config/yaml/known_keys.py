"""Which keys a mapping of a config file may have, read from the models."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel

if TYPE_CHECKING:
    from headrace.config.yaml.document import KeyPath

# A type as it stands in an annotation: a class, a union, or a generic alias of one.
Annotation: TypeAlias = Any


def keys_at(model: type[BaseModel], path: KeyPath, data: object) -> list[str]:
    """Return the keys of the mapping at `path`; the file's own `type:` chooses among several."""
    here: list[Annotation] = [model]
    for part in path:
        here = [inner for one in here for inner in _step(one, part)]
        data = _item(data, part)
        here = _chosen(here, data)
    return [name for one in here if _is_model(one) for name in _names(one)]


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _is_model(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, BaseModel)


def _step(annotation: Annotation, part: str | int) -> list[Annotation]:
    if _is_model(annotation):
        for name, field in annotation.model_fields.items():
            if (field.alias or name) == part:
                return _alternatives(field.annotation)
        return []
    arguments = get_args(annotation)
    origin: object = get_origin(annotation)
    if origin is dict:
        return _alternatives(arguments[1])
    if origin is tuple:
        return _alternatives(arguments[0])
    return []


def _alternatives(annotation: Annotation) -> list[Annotation]:
    origin: object = get_origin(annotation)
    if origin is Annotated:
        return _alternatives(get_args(annotation)[0])
    if origin in {Union, types.UnionType}:
        return [inner for one in get_args(annotation) for inner in _alternatives(one)]
    return [annotation]


def _item(data: object, part: str | int) -> object:
    if isinstance(data, dict):
        return data.get(part)
    return data[part] if isinstance(data, list) and isinstance(part, int) else None


def _chosen(models: list[Annotation], data: object) -> list[Annotation]:
    kind = data.get("type") if isinstance(data, dict) else None
    fitting = [one for one in models if _is_model(one) and kind in _types(one)]
    return fitting or models


def _types(model: type[BaseModel]) -> tuple[Any, ...]:
    field = model.model_fields.get("type")
    return get_args(field.annotation) if field else ()
