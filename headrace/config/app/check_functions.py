"""Whether the functions exist that an application names, as far as its files tell.

Nothing is imported: a module may start what it likes.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from headrace.problems import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.common.section import Section


def check_functions(transform: Section) -> None:
    """Report functions that their module does not have; installed packages are not looked at."""
    _check(transform.at("python"))
    udfs = transform.at("udfs")
    if udfs.items() and "python" in transform.mapping():
        message = "udfs are for a query, but this transform is already a function"
        udfs.report(message, "call them from it", key=True)
    for udf in udfs.each():
        _check(udf)


def _check(named: Section) -> None:
    module, _, function = (named.text() or "").partition(":")
    path = _file_of(named, module) if function else None
    if path is None:
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as problem:
        line = getattr(problem, "lineno", None)
        where = path.name if line is None else f"{path.name}, line {line}"
        named.report(f"{where} is not valid Python: {getattr(problem, 'msg', problem)}")
        return
    except OSError:
        return
    names = _names(tree)
    if function not in names and "*" not in names:
        advice = "" if named.is_secret() else did_you_mean(function, names)
        named.report(f"{path.name} has no function for {named.shown()}", advice)


def _file_of(named: Section, module: str) -> Path | None:
    parts = module.split(".")
    for folder in (named.document.path.parent, named.known.root):
        if folder is None:
            continue
        whole = folder.joinpath(*parts)
        for path in (whole.with_suffix(".py"), whole / "__init__.py"):
            if path.is_file():
                return path
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
