"""What must hold between the keys of a Kafka source, its schema, its registry and its sinks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from headrace.contract import RAW_SCHEMA
from headrace.expressions.columns import Columns
from headrace.problems import did_you_mean
from headrace.registry.address import (
    BEARER,
    BEARER_SOURCE,
    BETWEEN_URLS,
    CERTIFICATE,
    KEY,
    KEY_PASSWORD,
    NEEDED_BY,
    USER_INFO,
)
from headrace.schema.avro import load_avro
from headrace.schema.rules import SchemaRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.config.common.section import Section
    from headrace.schema.model import Record

_ADDRESS: Final = re.compile(r"https?://[^\s/]")


def check_source(source: Section) -> tuple[Record | None, Columns]:
    """Check a Kafka source; return its schema, and the columns that expressions may name."""
    source.check_cluster("cluster")
    _check_registry(source)
    form = source.text("format")
    schema = source.at("schema")
    has_schema = "schema" in source.mapping()
    if form == "raw":
        if has_schema:
            message = "format raw has no schema: its columns are the bytes key and value"
            schema.report(message, "remove it, or use format json", key=True)
        return None, Columns(RAW_SCHEMA)
    if form in {"json", "avro"} and not has_schema:
        message = f'missing key "schema": format {form} needs one'
        source.report(message, "add schema: an Avro schema file", key=True)
    check_registry_address(schema.at("registry"))
    record = load_schema(schema)
    return record, Columns(record)


def _check_registry(source: Section) -> None:
    """Check that a source of format avro says once where its schemas are, and no other does."""
    form, keys, registry = source.text("format"), source.mapping(), source.at("registry")
    is_registered = bool(source.mapping("schema"))
    check_registry_address(registry)
    if form in {"json", "raw"} and "registry" in keys:
        message = f"a registry next to the schema is for format avro, but this is {form}"
        registry.report(message, "remove it", key=True)
    elif is_registered and "registry" in keys:
        message = "the schema already names its registry"
        registry.report(message, "remove one of the two", key=True)
    elif form == "avro" and "schema" in keys and not is_registered and "registry" not in keys:
        message = 'missing key "registry": format avro looks up the writers\' schemas there'
        source.report(message, 'add registry: {url: "http://…"}', key=True)


def check_registry_address(registry: Section) -> None:
    """Report what is wrong with a registry's URLs, and what does not go together in its client."""
    url, properties = registry.at("url"), registry.at("properties")
    text = url.text()
    urls = [] if text is None else BETWEEN_URLS.split(text.strip())
    if _is_blank(url) or not all(map(_ADDRESS.match, urls)):
        _report_address(url)
    _check_bearer(properties)
    keys = properties.mapping()
    first = next((one for one in (KEY, KEY_PASSWORD) if one in keys), None)
    if first is not None and CERTIFICATE not in keys:
        message = f'missing key "{CERTIFICATE}": {first} needs it'
        properties.report(message, f"add {CERTIFICATE}", key=True)


def _check_bearer(properties: Section) -> None:
    keys, source = properties.mapping(), properties.text(BEARER_SOURCE)
    for name in NEEDED_BY.get(source or "", ()):
        if name not in keys:
            message = f'missing key "{name}": {source} needs it'
            properties.report(message, f"add {name}", key=True)
    if BEARER_SOURCE not in keys:
        alone = next((name for name in keys if name.startswith(BEARER)), None)
        if alone is not None:
            message = f"{alone} has no effect without {BEARER_SOURCE}"
            advice = f"add {BEARER_SOURCE}: {' or '.join(NEEDED_BY)}"
            properties.at(alone).report(message, advice, key=True)
    elif USER_INFO in keys:
        message = f"{USER_INFO} and {BEARER_SOURCE} are two kinds of login"
        properties.at(USER_INFO).report(message, "remove one of the two", key=True)


def check_address(address: Section) -> None:
    """Report what is no address of a server; the address itself may hold a password."""
    text = address.text()
    if _is_blank(address) or (text is not None and not _ADDRESS.match(text)):
        _report_address(address)


def _is_blank(address: Section) -> bool:
    written = address.value()
    return isinstance(written, str) and not written.strip()


def _report_address(address: Section) -> None:
    message = "expected an address such as http://host:8081, got something else"
    address.report(message, "begin it with http:// or https://")


def load_schema(schema: Section) -> Record | None:
    """Return the schema that a value names; what is wrong with it is reported at that value."""
    path = schema.find_file()
    if path is None:
        return None
    try:
        return load_avro(path)
    except SchemaRefused as refused:
        reasons = refused.problems
    except RecursionError:
        reasons = ("it is nested too deep",)
    for reason in reasons:
        schema.report(f"schema {schema.shown()} cannot be used: {reason}")
    return None


def topic_of(section: Section) -> tuple[str, str] | None:
    """Return cluster and topic, None where one is not there; a cluster has one name of all it has."""
    # Of a file for many topics, what goes round in a circle for an example does so for all.
    cluster, topic = section.example("cluster"), section.example("topic")
    return (section.known.main_name(cluster), topic) if cluster and topic else None


def source_topics(file: Section) -> Iterator[tuple[tuple[str, str], str]]:
    """Give cluster and topic of the source, then of each deployment that changes one of them."""
    base = topic_of(file.at("source"))
    if base is None:
        return
    yield base, ""
    for override in file.entries("overrides"):
        cluster, topic = override.text("source", "cluster"), override.text("source", "topic")
        if cluster or topic:
            name = file.known.main_name(cluster) if cluster else base[0]
            yield (name, topic or base[1]), f" in deployment {override.name}"


def check_no_loop(sink: Section, message: str) -> None:
    """Check that a topic is not the one that its file reads; `{where}` names a deployment's."""
    target = topic_of(sink)
    where = next((where for source, where in source_topics(sink.file) if source == target), None)
    if where is not None:
        sink.at("topic").report(message.format(where=where), "use another topic")


def check_overrides(file: Section) -> None:
    """Check the clusters that deployments name."""
    for override in file.entries("overrides"):
        override.check_cluster("source", "cluster")


def check_sink(sink: Section, names: Sequence[str] | None) -> None:
    """Check a Kafka sink; `names` are the columns that reach it, None where they are not known."""
    sink.check_cluster("cluster")
    if names is None:
        return
    check_named(sink.at("key"), "key", names)
    if sink.text("format") == "raw" and not _has(names, "value"):
        message = "format raw writes the column value, which the output does not have"
        sink.at("format").report(message, 'project an expression "… AS value"')


def check_named(column: Section, what: str, names: Sequence[str]) -> None:
    """Check that a value names one of the columns that reach a sink."""
    name = column.text()
    if name and not _has(names, name):
        message = f"the {what} {column.shown()} is not among the output's columns"
        column.report(message, "" if column.is_secret() else did_you_mean(name, names))


def _has(names: Sequence[str], name: str) -> bool:
    return name.casefold() in {one.casefold() for one in names}
