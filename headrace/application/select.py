"""Which of its candidates each source of an application reads."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeAlias

from headrace.config.app.file import DynamicSource, HybridSource, IcebergSource, KafkaTopics
from headrace.errors import UsageError
from headrace.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.app.file import App

Concrete: TypeAlias = KafkaTopics | IcebergSource | HybridSource


def names_for_the_transform(app: App) -> list[str]:
    """Return the sources that the transform knows: all that are nobody's candidate or half."""
    parts: set[str] = set()
    for source in app.sources.values():
        match source:
            case DynamicSource():
                parts.update(source.candidates)
            case HybridSource():
                parts.update((source.past, source.live))
            case _:
                pass
    return [name for name in app.sources if name not in parts]


def selected(app: App, choices: Mapping[str, str]) -> dict[str, Concrete]:
    """Return what each source reads by the file, or by the choices that go before it."""
    for name, choice in choices.items():
        source = app.sources.get(name)
        if not isinstance(source, DynamicSource):
            known = [one for one, is_ in app.sources.items() if isinstance(is_, DynamicSource)]
            raise UsageError(
                f"{app.name} has no dynamic source {name}",
                did_you_mean(name, known) or "it has none",
            )
        if choice not in source.candidates:
            advice = did_you_mean(choice, source.candidates)
            raise UsageError(f"{choice} is not a candidate of {name}", advice)
    return {name: _follow(app, name, choices) for name in names_for_the_transform(app)}


def of_the_past(app: App) -> dict[str, IcebergSource]:
    """Return for each source the table that it can be replayed from."""
    found = tables_behind(app)
    missing = [name for name in names_for_the_transform(app) if name not in found]
    if missing:
        raise UsageError(
            f"{app.name} cannot be replayed: {', '.join(missing)} has no candidate of type iceberg",
            "make it dynamic, with the table that the lake writer fills among its candidates",
        )
    return found


def tables_behind(app: App) -> dict[str, IcebergSource]:
    """Return the table of each source that can be replayed; the others have none."""
    found = {name: _table(app, name) for name in names_for_the_transform(app)}
    return {name: table for name, table in found.items() if table is not None}


def of_kafka(app: App, name: str) -> tuple[str, KafkaTopics]:
    """Return the live candidate of a source, and its name: the selected one before the others."""
    source = app.sources[name]
    if isinstance(source, KafkaTopics):
        return name, source
    if isinstance(source, HybridSource):
        return of_kafka(app, source.live)
    if isinstance(source, DynamicSource):
        for one in dict.fromkeys((source.selected, *source.candidates)):
            with contextlib.suppress(UsageError):
                return of_kafka(app, one)
    raise UsageError(
        f"{name} of {app.name} has no candidate of type kafka", "add the topic to its candidates"
    )


def _follow(app: App, name: str, choices: Mapping[str, str]) -> Concrete:
    source = app.sources[name]
    if isinstance(source, DynamicSource):
        return _follow(app, choices.get(name, source.selected), choices)
    return source


def _table(app: App, name: str) -> IcebergSource | None:
    source = app.sources[name]
    if isinstance(source, IcebergSource):
        return source
    if isinstance(source, HybridSource):
        return _table(app, source.past)
    if isinstance(source, DynamicSource):
        # The selected one first: it may be one table of several.
        order = (source.selected, *source.candidates)
        return next((table for one in order if (table := _table(app, one)) is not None), None)
    return None
