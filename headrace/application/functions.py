"""The author's own functions: found beside the application, sent to tasks, known to SQL."""

from __future__ import annotations

import datetime as dt
import importlib
import sys
import typing
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

# What a function's return type is in Spark SQL.
_TYPES: Final[Mapping[object, str]] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    str: "string",
    bytes: "binary",
    dt.datetime: "timestamp",
    dt.date: "date",
}

_OURS: Final = frozenset(
    {"__main__", "headrace", "router", "lake_writer", "backfill", "stream_app", "fleet"}
)


def load(target: str, folders: Sequence[Path]) -> Callable[..., Any]:
    """Return `module:function`, looked for in these folders first; tasks can run it, too."""
    module_name, _, name = target.partition(":")
    sys.path[:0] = [str(folder) for folder in folders if str(folder) not in sys.path]
    module = importlib.import_module(module_name)
    _send_along(folders)
    found: Callable[..., Any] = getattr(module, name)
    return found


def register(spark: SparkSession, name: str, function: Callable[..., Any]) -> None:
    """Let queries call a function by that name."""
    if hasattr(function, "returnType") and hasattr(function, "evalType"):
        spark.udf.register(name, function)
        return
    spark.udf.register(name, function, return_type(name, function))


def return_type(name: str, function: Callable[..., Any]) -> str:
    """Return the type in Spark SQL of what a plain function returns."""
    try:
        hint = typing.get_type_hints(function).get("return")
    except NameError as problem:
        raise Terminal(
            f"the types of the function {name} cannot be read: {problem}",
            "import the types of its annotations at run time, not only for type checking",
        ) from None
    # A null may always come: `int | None` is a bigint.
    parts = [one for one in typing.get_args(hint) or (hint,) if one is not type(None)]
    kind = _TYPES.get(parts[0]) if len(parts) == 1 else None
    if kind is None:
        shown = "no return type" if hint is None else f"the return type {hint}"
        raise Terminal(
            f"the function {name} has {shown}, and headrace cannot derive a SQL type from that",
            f"annotate it as one of {', '.join(one.__name__ for one in _TYPES)}"  # type: ignore[attr-defined]  # all are classes
            ', or make it with @udf("…") or @pandas_udf("…")',
        )
    return kind


def _send_along(folders: Sequence[Path]) -> None:
    """Let tasks have the modules of these folders with the functions: they cannot import them."""
    from pyspark import cloudpickle  # noqa: PLC0415 - importing pyspark takes a second

    for module in list(sys.modules.values()):
        if _own_file(module, folders) is not None:
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # it has no types


def modules_of(targets: Iterable[str], folders: Sequence[Path]) -> dict[str, Path]:
    """Return the author's modules that these functions are from, and what those have imported."""
    found: dict[str, Path] = {}
    left = [sys.modules.get(target.partition(":")[0]) for target in targets]
    while left:
        module = left.pop()
        file = _own_file(module, folders)
        if module is None or file is None or module.__name__ in found:
            continue
        found[module.__name__] = file
        for value in list(vars(module).values()):
            origin = getattr(value, "__module__", None)
            left.append(value if isinstance(value, ModuleType) else sys.modules.get(str(origin)))
    return found


def _own_file(module: ModuleType | None, folders: Sequence[Path]) -> Path | None:
    """Return the file of a module that is the author's own, None of any other."""
    named = getattr(module, "__file__", None)
    if module is None or not named or module.__name__.partition(".")[0] in _OURS:
        return None
    file = Path(named)
    if "site-packages" in file.parts:
        return None
    # Beside the application, or one package deep: a workspace may hold anything further down.
    is_near = any(folder in {file.parent, file.parent.parent} for folder in folders)
    return file if is_near else None
