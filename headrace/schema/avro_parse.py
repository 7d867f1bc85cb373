"""Parses Avro's JSON into the model. It reads the whole schema and collects every problem."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.schema.avro_words import (
    COMPLEX,
    LOGICAL_ON,
    PRIMITIVES,
    REFUSED_LOGICAL,
    full_name,
    is_integer,
    is_null,
    is_object,
    is_texts,
    kind_of,
    text,
)
from headrace.schema.model import Array, Decimal, Enumeration, Field, Fixed, Map, Primitive, Record
from headrace.schema.rules import short_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.schema.model import Type

# What stands in for a type with a problem: it breaks no rule of its own.
_PLACEHOLDER: Final = Primitive.STRING


class _Slot(NamedTuple):
    """What a field, an item or a value holds."""

    type: Type
    nullable: bool
    null_last: bool


class Parser:
    """Parses one schema; `problems` are those it found, each as `path: reason`."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        # None while a type is under definition: a name that meets itself is recursive.
        self._named: dict[str, Type | None] = {}

    def top_level(self, obj: object) -> Record:
        """Return the record that a stream's schema is, or one that stands for a refused one."""
        kind = obj.get("type") if is_object(obj) else None
        if is_object(obj) and kind == "record":
            name = obj.get("name")
            at = short_name(name) if isinstance(name, str) and name else "record"
            return self._record(obj, at, "")
        self._problem("top level", f"a stream's schema is a record, not {kind_of(obj)}")
        return Record("refused", (Field("refused", _PLACEHOLDER, nullable=True),))

    def _problem(self, at: str, reason: str) -> Type:
        self.problems.append(f"{at}: {reason}")
        return _PLACEHOLDER

    def _slot(self, obj: object, at: str, namespace: str) -> _Slot:
        if not isinstance(obj, list):
            return _Slot(self._type(obj, at, namespace), nullable=False, null_last=False)
        branches = [branch for branch in obj if not is_null(branch)]
        if len(branches) == 1 and len(obj) == 2:
            inner = self._type(branches[0], at, namespace)
            return _Slot(inner, nullable=True, null_last=is_null(obj[1]))
        if not branches:
            reason = f"a union of {' and '.join('null' for _ in obj) or 'nothing'} has no values"
        elif len(branches) == len(obj) == 1:
            reason = "a union of one type is not supported (write the type itself)"
        else:
            kinds = " and ".join(kind_of(branch) for branch in branches)
            reason = f'a union of {kinds} is not supported (only ["null", X])'
        return _Slot(self._problem(at, reason), nullable=True, null_last=False)

    def _type(self, obj: object, at: str, namespace: str) -> Type:
        if isinstance(obj, str):
            return self._reference(obj, at, namespace)
        if isinstance(obj, list):
            return self._problem(
                at, "a union is allowed only as the type of a field, of items or of values"
            )
        kind = obj.get("type") if is_object(obj) else None
        if not is_object(obj) or kind is None:
            return self._problem(at, f"a type is a name, or an object with its `type`, not {obj!r}")
        if not isinstance(kind, str):
            return self._type(kind, at, namespace)
        if kind in COMPLEX:
            return self._complex(kind, obj, at, namespace)
        return self._logical(kind, obj, at, namespace)

    def _logical(self, kind: str, obj: Mapping[str, object], at: str, namespace: str) -> Type:
        logical = obj.get("logicalType")
        if not isinstance(logical, str):
            return self._reference(kind, at, namespace)
        if refused := REFUSED_LOGICAL.get((kind, logical)):
            return self._problem(at, f"{refused} is not supported")
        if (kind, logical) == ("bytes", "decimal"):
            return self._decimal(obj, at, None)
        return LOGICAL_ON.get((kind, logical)) or self._reference(kind, at, namespace)

    def _reference(self, name: str, at: str, namespace: str) -> Type:
        if name in PRIMITIVES:
            return PRIMITIVES[name]
        if name == "null":
            return self._problem(at, 'bare null is not supported (write ["null", X])')
        for known in (full_name(name, namespace), name):
            if known in self._named:
                found = self._named[known]
                recursive = f"the record {known} contains itself: recursion is not supported"
                return found or self._problem(at, recursive)
        return self._problem(at, f"there is no type {name}{self._suggestion(name)}")

    def _suggestion(self, name: str) -> str:
        for underlying, logical in LOGICAL_ON:
            if logical == name:
                return f' (write {{"type": "{underlying}", "logicalType": "{name}"}})'
        known = [*PRIMITIVES, *COMPLEX, *self._named]
        close = difflib.get_close_matches(name, known, n=1)
        return f" (did you mean {close[0]}?)" if close else ""

    def _complex(self, kind: str, obj: Mapping[str, object], at: str, namespace: str) -> Type:
        if kind == "record":
            return self._record(obj, at, namespace)
        if kind == "enum":
            return self._enumeration(obj, at, namespace)
        if kind == "fixed":
            return self._fixed(obj, at, namespace)
        content, path = ("items", f"{at}[]") if kind == "array" else ("values", f"{at}{{}}")
        if content not in obj:
            return self._problem(at, f"{kind} without `{content}`")
        slot = self._slot(obj[content], path, namespace)
        return (Array if kind == "array" else Map)(slot.type, slot.nullable, slot.null_last)

    def _record(self, obj: Mapping[str, object], at: str, namespace: str) -> Record:
        name, aliases = self._names("record", obj, at, namespace)
        self._named[name] = None
        fields = obj.get("fields")
        if not isinstance(fields, list):
            self._problem(at, "a record without a list of `fields`")
            fields = [{"name": "refused", "type": _PLACEHOLDER.value}]
        record = Record(
            name,
            tuple(
                self._field(field, f"{at}.", index, name.rpartition(".")[0])
                for index, field in enumerate(fields)
            ),
            text(obj.get("doc")),
            aliases,
        )
        self._define(name, record)
        return record

    def _field(self, obj: object, prefix: str, index: int, namespace: str) -> Field:
        name = obj.get("name") if is_object(obj) else None
        if not is_object(obj) or not isinstance(name, str):
            self._problem(f"{prefix}{index}", "a field is an object with a `name` and a `type`")
            return Field(f"refused_{index}", _PLACEHOLDER, nullable=True)
        at = f"{prefix}{name}"
        before = len(self.problems)
        if "type" in obj:
            slot = self._slot(obj["type"], at, namespace)
        else:
            slot = _Slot(self._problem(at, "a field without a `type`"), True, False)
        return Field(
            name,
            slot.type,
            slot.nullable,
            doc=text(obj.get("doc")),
            # What stands in for a refused type has no default of its own.
            default=json.dumps(obj["default"])
            if "default" in obj and len(self.problems) == before
            else None,
            aliases=self._aliases(obj, at),
            null_last=slot.null_last,
        )

    def _enumeration(self, obj: Mapping[str, object], at: str, namespace: str) -> Type:
        name, aliases = self._names("enum", obj, at, namespace)
        symbols = obj.get("symbols")
        if not is_texts(symbols):
            refused = self._problem(at, "an enum without a list of `symbols`")
            return self._define(name, refused)
        default, doc = text(obj.get("default")), text(obj.get("doc"))
        return self._define(name, Enumeration(name, tuple(symbols), default, doc, aliases))

    def _fixed(self, obj: Mapping[str, object], at: str, namespace: str) -> Type:
        name, aliases = self._names("fixed", obj, at, namespace)
        size, logical = obj.get("size"), obj.get("logicalType")
        if not is_integer(size):
            refused = self._problem(at, "a fixed without `size`, a whole number of bytes`")
            return self._define(name, refused)
        if isinstance(logical, str) and ("fixed", logical) in REFUSED_LOGICAL:
            reason = f"{REFUSED_LOGICAL['fixed', logical]} is not supported"
            return self._define(name, self._problem(at, reason))
        is_uuid = logical == "uuid" and size == 16
        fixed = Fixed(name, size, is_uuid, aliases)
        decimal = self._decimal(obj, at, fixed) if logical == "decimal" else fixed
        return self._define(name, decimal)

    def _decimal(self, obj: Mapping[str, object], at: str, fixed: Fixed | None) -> Type:
        precision, scale = obj.get("precision"), obj.get("scale", 0)
        if not is_integer(precision) or not is_integer(scale):
            return self._problem(at, "a decimal needs whole numbers as `precision` and `scale`")
        return Decimal(precision, scale, fixed)

    def _names(
        self, kind: str, obj: Mapping[str, object], at: str, namespace: str
    ) -> tuple[str, tuple[str, ...]]:
        """Return the full name of a type under definition, and its aliases."""
        name, own = obj.get("name"), obj.get("namespace")
        if not isinstance(name, str) or not name:
            self._problem(at, f"{kind} without a `name`")
            name = f"refused_{len(self._named)}"
        full = full_name(name, own if isinstance(own, str) else namespace)
        if short_name(full) in (*PRIMITIVES, *COMPLEX, "null"):
            self._problem(at, f"the name {short_name(full)} is one of Avro's own types")
        return full, self._aliases(obj, at)

    def _define(self, full_name: str, node: Type) -> Type:
        # A placeholder is stored, too, so that each reference does not repeat one problem.
        self._named[full_name] = node
        return node

    def _aliases(self, obj: Mapping[str, object], at: str) -> tuple[str, ...]:
        aliases = obj.get("aliases", [])
        if is_texts(aliases):
            return tuple(aliases)
        self._problem(at, "`aliases` is a list of names")
        return ()
