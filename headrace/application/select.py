"""Which of its candidates each source of an application reads."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from headrace.config.app.file import DynamicSource, HybridSource, IcebergSource, KafkaTopics
from headrace.errors import UsageError
from headrace.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headrace.config.app.file import App
    from headrace.config.load import LoadedApp

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


def parse_choices(selections: Iterable[str]) -> dict[str, str]:
    """Read what was chosen, each as SOURCE=CANDIDATE."""
    choices = {}
    for selection in selections:
        name, separator, candidate = selection.partition("=")
        if not separator:
            raise UsageError(f"--select {selection} is not valid", "write it as SOURCE=CANDIDATE")
        choices[name] = candidate
    return choices


def with_choices(app: LoadedApp, choices: Mapping[str, str]) -> LoadedApp:
    """Return an application that is replayed from these candidates: each has to be a table."""
    selected(app.config, choices)
    for name, choice in choices.items():
        if not any(isinstance(one, IcebergSource) for _, one in _candidates(app.config, choice)):
            raise UsageError(
                f"{choice} of {name} is no table, and a replay reads tables",
                "choose a candidate of type iceberg, or one of type hybrid",
            )
    sources = {
        name: source.model_copy(update={"selected": choices[name]}) if name in choices else source
        for name, source in app.config.sources.items()
    }
    return replace(app, config=app.config.model_copy(update={"sources": sources}))


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
    found: dict[str, IcebergSource] = {}
    for name in names_for_the_transform(app):
        for _, source in _candidates(app, name):
            if isinstance(source, IcebergSource):
                found.setdefault(name, source)
    return found


def smallest_threshold(sources: Iterable[IcebergSource]) -> timedelta:
    """Return the threshold that suits all tables: the smallest that one of them asks for."""
    return min((one.max_misalignment_threshold for one in sources), default=timedelta(0))


def of_kafka(app: App, name: str) -> tuple[str, KafkaTopics]:
    """Return the live candidate of a source, and its name: the selected one before the others."""
    for one, source in _candidates(app, name):
        if isinstance(source, KafkaTopics):
            return one, source
    raise UsageError(
        f"{name} of {app.name} has no candidate of type kafka", "add the topic to its candidates"
    )


def _follow(app: App, name: str, choices: Mapping[str, str]) -> Concrete:
    source = app.sources[name]
    if isinstance(source, DynamicSource):
        return _follow(app, choices.get(name, source.selected), choices)
    return source


def _candidates(app: App, name: str) -> Iterator[tuple[str, KafkaTopics | IcebergSource]]:
    """Yield the topics and tables that a source may read: the selected one before the others."""
    match app.sources[name]:
        case HybridSource(past=past, live=live):
            parts = [past, live]
        case DynamicSource(selected=selected, candidates=candidates):
            parts = [selected, *candidates]
        case source:
            yield name, source
            return
    for part in parts:
        yield from _candidates(app, part)
