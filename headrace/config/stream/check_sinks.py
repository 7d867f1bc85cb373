"""What must hold between the columns of a stream's output and the sink that they go to.

Another stream that they go to is one, it fits, and there is no circle.
"""

from __future__ import annotations

import os
import re
import ssl
from typing import TYPE_CHECKING, Final

from headrace import proposed_files
from headrace.config.common.check_kafka import (
    check_address,
    check_named,
    check_registry_address,
    check_sink,
    load_schema,
    source_topics,
    topic_of,
)
from headrace.config.common.section import Section
from headrace.config.lake_table.checks import check_partitions
from headrace.config.stream.output_columns import check_fits
from headrace.config.stream.sinks import ORIGIN_ID
from headrace.config.yaml.reader import FOR_EACH, read_document
from headrace.expressions.columns import Columns
from headrace.problems import absolute
from headrace.schema.model import Field, Record

if TYPE_CHECKING:
    from headrace.config.stream.output_columns import OutputColumns

# What a header of a request may hold.
_KEY: Final = re.compile(r"\s*[!-~]+\s*")
_USER: Final = re.compile(r"https?://[^/]*@")


def check_output_sink(sink: Section, columns: OutputColumns | None) -> Record | None:
    """Check a sink, whose columns are None where they are not known; return its own schema."""
    match sink.text("type"):
        case "kafka":
            check_sink(sink, None if columns is None else tuple(columns))
            return _check_schema(sink, columns)
        case "iceberg":
            sink.check_catalog("catalog")
            _check_partitions(sink.at("partition_by"), columns)
        case "search":
            check_address(sink.at("url"))
            _check_login(sink)
            if columns is not None and sink.text("id") != ORIGIN_ID:
                check_named(sink.at("id"), "id", tuple(columns))
        case "stream":
            _check_target(sink, columns)
        case _:
            pass  # the model reports it
    return None


def _check_schema(sink: Section, columns: OutputColumns | None) -> Record | None:
    """Check what belongs to format avro alone; return the schema that is written with."""
    form, keys = sink.text("format"), sink.mapping()
    check_registry_address(sink.at("registry"))
    if form == "avro":
        if "registry" not in keys:
            message = 'missing key "registry": format avro registers its schema there'
            sink.report(message, 'add registry: {url: "http://…"}', key=True)
        named = sink.at("schema")
        schema = load_schema(named)
        if schema is not None and columns is not None:
            check_fits(named, columns, schema, f"the schema {named.shown()}", as_json=False)
        return schema
    for key in ("schema", "registry"):
        if form in {"json", "raw"} and key in keys:
            message = f"{key} is for format avro, but this sink writes {form}"
            sink.at(key).report(message, "remove it, or use format avro", key=True)
    return None


def _check_login(sink: Section) -> None:
    """Report an API key that cannot be one, a second login, and a CA that is of no use."""
    url, key = sink.text("url") or "", sink.text("api_key")
    if key is not None and not _KEY.fullmatch(key):
        message = "expected an API key as Elasticsearch encodes it, got something else"
        sink.at("api_key").report(message, "use the value `encoded` of its answer")
    elif key is not None and _USER.match(url):
        message = "api_key and a user in the url are two kinds of login"
        sink.at("api_key").report(message, "remove one of the two", key=True)
    if sink.text("ca") is not None and url.startswith("http://"):
        message = "ca has no effect: the url does not use TLS"
        sink.at("ca").report(message, "remove it, or begin the url with https://", key=True)
    _check_ca(sink.at("ca"))


def _check_ca(ca: Section) -> None:
    path = ca.find_file()
    if path is None:
        return
    try:
        ssl.create_default_context(cadata=proposed_files.read_text(path))
    except (OSError, ValueError):
        # Among them OpenSSL's own errors.
        message = f"the file {ca.shown()} has no certificate in PEM"
        ca.report(message, "it begins with -----BEGIN CERTIFICATE-----")


def _check_partitions(partitions: Section, columns: OutputColumns | None) -> None:
    types = columns or {}
    fields = [Field(name, kind, nullable=True) for name, kind in types.items() if kind is not None]
    known = Columns(None if columns is None else Record("output", tuple(fields)))
    check_partitions(partitions, known, [name for name, kind in types.items() if kind is None])


def _check_target(sink: Section, columns: OutputColumns | None) -> None:
    """Check a sink of type stream; `columns` are those that reach it."""
    if columns is not None:
        check_named(sink.at("key"), "key", tuple(columns))
    named = sink.at("stream")
    target = _stream_named(named)
    if target is None:
        return
    if target.value("kind") != "stream":
        message = f"{named.shown()} is not a stream"
        named.report(message, "name a file that begins with kind: stream")
        return
    if FOR_EACH in target.mapping():
        message = f"{named.shown()} is about many topics"
        named.report(message, "name a stream of one topic, or use type: kafka")
        return
    circle = _circle(sink.file, target)
    if circle:
        message = f"this output ends up in its own stream: {' → '.join(circle)}"
        named.report(message, "break the circle")
    elif columns is not None:
        _check_columns(named, columns, target)


def _stream_named(named: Section) -> Section | None:
    path, root = named.find_file(), named.known.root
    if path is None:
        return None
    return Section(read_document(absolute(path), [root] if root else []), named.known)


def _check_columns(named: Section, columns: OutputColumns, target: Section) -> None:
    what = f"the stream {named.shown()}"
    form = target.text("source", "format")
    if form == "raw":
        if "value" not in columns:
            message = f"{what} reads the bytes value, which this output does not have"
            named.report(message, 'project an expression "… AS value"')
        return
    # What is wrong with the other file is reported when that one is checked.
    schema = load_schema(target.at("source", "schema"))
    if schema is not None:
        check_fits(named, columns, schema, what, as_json=form == "json")


def _circle(stream: Section, target: Section) -> list[str]:
    """Return the streams on the shortest path from a stream's sink back to it, none if none."""
    own = {source for source, _ in source_topics(stream)}
    paths = [([_name(stream), _name(target)], target)]
    seen = {_identity(stream)}
    while paths:
        names, here = paths.pop(0)
        if _identity(here) == _identity(stream) or topic_of(here.at("source")) in own:
            return names
        if _identity(here) in seen:
            continue
        seen.add(_identity(here))
        for output in here.each("outputs"):
            if topic_of(output.at("sink")) in own:
                return [*names, _name(stream)]
            following = _stream_named(output.at("sink", "stream"))
            if following is not None:
                paths.append(([*names, _name(following)], following))
    return []


def _identity(stream: Section) -> str:
    return os.path.realpath(stream.document.path)


def _name(stream: Section) -> str:
    """Return a stream's name, the file's where the name is not for showing."""
    name = stream.text("name")
    return stream.document.path.stem if name is None or stream.is_secret("name") else name
