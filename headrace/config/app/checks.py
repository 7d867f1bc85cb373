"""What must hold between the keys of an application."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from headrace import proposed_files
from headrace.config.app.check_sources import check_sources
from headrace.config.common.check_kafka import check_sink
from headrace.expressions.columns import Columns, UnknownColumn
from headrace.expressions.queries import check_query
from headrace.problems import did_you_mean
from headrace.schema.model import INSTANTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.config.common.section import Section
    from headrace.schema.model import Record


def check_app(app: Section) -> dict[str, Record]:
    """Report every contradiction in an application; return the schemas of its live sources."""
    schemas, columns = check_sources(app)
    _check_lookups(app)
    _check_transform(app.at("transform"))
    _check_watermarks(app, columns)
    _check_sink(app.at("sink"))
    return schemas


def _check_lookups(app: Section) -> None:
    sources = {name.casefold() for name in app.mapping("sources")}
    for lookup in app.entries("lookups"):
        lookup.check_catalog("catalog")
        # To SQL both are tables, whose names have no case.
        if lookup.name.casefold() in sources:
            message = f'a lookup and a source have the same name "{lookup.name}"'
            advice = "rename one of them: the transform uses both by name"
            lookup.report(message, advice, key=True)


def _check_transform(transform: Section) -> None:
    written = [key for key in ("python", "sql", "sql_file") if key in transform.mapping()]
    if isinstance(transform.value(), dict) and len(written) != 1:
        kinds = " and ".join(written) or "nothing"
        message = f"transform needs exactly one of python, sql and sql_file, but has {kinds}"
        transform.report(message, key=True)
    _check_functions(transform)
    query = transform.text("sql")
    if query is not None:
        for problem in check_query(query):
            transform.at("sql").report_expression(problem)
    _check_query_file(transform.at("sql_file"))


def _check_functions(transform: Section) -> None:
    """Report functions that their module does not have; installed packages are not looked at.

    Nothing is imported: a module may start what it likes.
    """
    _check_function(transform.at("python"))
    udfs = transform.at("udfs")
    if udfs.items() and "python" in transform.mapping():
        message = "udfs are for a query, but this transform is already a function"
        udfs.report(message, "call them from it", key=True)
    for udf in udfs.each():
        _check_function(udf)


def _check_function(named: Section) -> None:
    module, _, function = (named.text() or "").partition(":")
    path = _file_of(named, module) if function else None
    if path is None:
        return
    try:
        tree = ast.parse(proposed_files.read_bytes(path))
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
            named.document.named.add(path)
            if proposed_files.is_file(path):
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


def _check_query_file(file: Section) -> None:
    path = file.find_file()
    if path is None:
        return
    try:
        text = proposed_files.read_text(path)
    except (OSError, UnicodeDecodeError):
        file.report(f"{file.shown()} is not UTF-8 text", "save it as UTF-8")
        return
    for problem in check_query(text):
        file.report_in(path, text, problem.offset, problem.message, problem.suggestion or "")


def _check_watermarks(app: Section, columns: dict[str, Columns]) -> None:
    """Report watermarks of what is no source, and of columns that no watermark can be of."""
    names = app.mapping("sources")
    for watermark in app.entries("watermarks"):
        name = watermark.name
        if name not in names:
            message = f'a watermark for "{name}", which is not a source'
            watermark.report(message, did_you_mean(name, names), key=True)
            continue
        if "on_ahead" in watermark.mapping() and "max_ahead" not in watermark.mapping():
            message = "on_ahead has no effect without max_ahead"
            watermark.at("on_ahead").report(message, "add max_ahead: 10min", key=True)
        for live in _behind(app, name, set()):
            if live in columns and not _is_of_source(watermark, live, columns[live]):
                break


def _is_of_source(watermark: Section, live: str, columns: Columns) -> bool:
    """Whether a watermark can be of its column in that source; reported where it cannot."""
    column = watermark.at("column")
    name = column.text()
    if not name:
        return True
    found = columns.find(name.split("."))
    if isinstance(found, UnknownColumn):
        message = f'source "{live}" has no column {column.shown()}'
        column.report(message, "" if column.is_secret() else found.suggestion)
        return False
    is_instant = found.type is None or ("." not in name and found.type in INSTANTS)
    if "max_ahead" in watermark.mapping() and not is_instant:
        message = f"max_ahead is for a column of a timestamp type, and {column.shown()} is not"
        column.report(message, "name a column of timestamp-millis or timestamp-micros")
        return False
    return True


def _behind(app: Section, name: str, seen: set[str]) -> Iterator[str]:
    """Give the sources that a name can stand for."""
    if name in seen:
        return
    seen.add(name)
    yield name
    source = app.at("sources", name)
    half = source.text("live")
    if half is not None:
        yield half
    for one in source.each("candidates"):
        candidate = one.text()
        if candidate is not None:
            yield from _behind(app, candidate, seen)


def _check_sink(sink: Section) -> None:
    kind = sink.text("type")
    if kind == "iceberg":
        sink.check_catalog("catalog")
        _check_mode(sink)
        _check_table_loop(sink)
    elif kind == "kafka":
        check_sink(sink, None)
        _check_topic_loop(sink)


def _check_mode(sink: Section) -> None:
    mode = sink.text("mode") or "append"
    keys = sink.mapping()
    if mode == "upsert" and not sink.items("key"):
        sink.report("mode upsert needs a key", "key: [column, …]", key=True)
    if mode == "replace" and "time_column" not in keys:
        message = "mode replace needs a time_column: it says to which period a row belongs"
        sink.report(message, "time_column: the result's column with a row's time", key=True)
    if mode in {"append", "replace"}:
        for name in ("key", "version", "deleted"):
            if name in keys:
                message = f"{name} is for mode upsert, but the mode is {mode}"
                sink.at(name).report(message, "mode: upsert, or remove it", key=True)


def _check_topic_loop(sink: Section) -> None:
    cluster, topic = sink.text("cluster"), sink.text("topic")
    for source in sink.file.entries("sources"):
        topics = source.items("topics") or [source.text("topics")]
        if topic and topic in topics and cluster == source.text("cluster"):
            message = f'the sink writes to the topic that source "{source.name}" reads'
            sink.at("topic").report(f"{message}: an endless loop", "use another topic")
            return


def _check_table_loop(sink: Section) -> None:
    keys = ("catalog", "database", "table")
    written = [sink.text(key) for key in keys]
    for source in sink.file.entries("sources"):
        if None not in written and written == [source.text(key) for key in keys]:
            message = f'the sink writes to the table that source "{source.name}" reads'
            sink.at("table").report(message, "use another table")
            return
