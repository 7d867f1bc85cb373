"""What must hold between the keys of an application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.app.check_functions import check_functions
from headrace.config.app.check_sources import check_sources
from headrace.config.app.check_watermarks import check_watermarks
from headrace.config.common.check_kafka import check_sink
from headrace.expressions.queries import check_query

if TYPE_CHECKING:
    from headrace.config.common.section import Section
    from headrace.schema.model import Record


def check_app(app: Section) -> dict[str, Record]:
    """Report every contradiction in an application; return the schemas of its live sources."""
    schemas, columns = check_sources(app)
    _check_lookups(app)
    _check_transform(app.at("transform"))
    check_watermarks(app, columns)
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
    check_functions(transform)
    query = transform.text("sql")
    if query is not None:
        for problem in check_query(query):
            transform.at("sql").report_expression(problem)
    _check_query_file(transform.at("sql_file"))


def _check_query_file(file: Section) -> None:
    path = file.find_file()
    if path is None:
        return
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        file.report(f"{file.shown()} is not UTF-8 text", "save it as UTF-8")
        return
    for problem in check_query(text):
        file.report_in(path, text, problem.offset, problem.message, problem.suggestion or "")


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
