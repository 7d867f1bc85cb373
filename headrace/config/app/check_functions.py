"""Whether the functions exist that an application names, as far as its files tell.

Nothing is imported: a module may start what it likes.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from headrace.config.problems import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet


def check_functions(sheet: Sheet) -> None:
    """Report functions that their module does not have; one of an installed package is not looked at."""
    _check(sheet, ("transform", "python"))
    udfs = sheet.items("transform", "udfs")
    if udfs and "python" in sheet.mapping("transform"):
        message = "udfs are for a query, and this transform is a function already"
        sheet.report(("transform", "udfs"), message, "call them from it", key=True)
    for number, _ in enumerate(udfs):
        _check(sheet, ("transform", "udfs", number))


def _check(sheet: Sheet, path: KeyPath) -> None:
    module, _, function = (sheet.text(*path) or "").partition(":")
    place = _file_of(sheet, module) if function else None
    if place is None:
        return
    try:
        tree = ast.parse(place.read_bytes())
    except (SyntaxError, ValueError) as problem:
        line = getattr(problem, "lineno", None)
        where = place.name if line is None else f"{place.name}, line {line}"
        sheet.report(path, f"{where} is no Python: {getattr(problem, 'msg', problem)}")
        return
    except OSError:
        return
    names = _names(tree)
    if function not in names and "*" not in names:
        shown = sheet.shown(*path)
        advice = "" if sheet.is_secret(*path) else did_you_mean(function, names)
        sheet.report(path, f"{place.name} has no function for {shown}", advice)


def _file_of(sheet: Sheet, module: str) -> Path | None:
    way = module.split(".")
    for folder in (sheet.document.path.parent, sheet.known.root):
        if folder is None:
            continue
        for place in (
            folder.joinpath(*way).with_suffix(".py"),
            folder.joinpath(*way, "__init__.py"),
        ):
            if place.is_file():
                return place
    return None


def _names(tree: ast.Module) -> list[str]:
    """Return what a module defines or imports under a name of its own; `*` where that is not known."""
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.append(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found += [one.asname or one.name for one in names]
            case ast.Name(id=name, ctx=ast.Store()):
                found.append(name)
    return found
