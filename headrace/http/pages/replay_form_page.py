"""The page that asks for a replay: what, when and how; its plan; and the button that starts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.http.pages.parts import Page, Part
from headrace.http.pages.replay_request import SELECT, values_of
from headrace.http.pages.templates import render
from headrace.http.pages.time_picture import plan_picture, tables_picture
from headrace.http.replay_rows import RequestRefused
from headrace.times import SECOND_US, format_time_us, parse_time_us

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.errors import HeadraceError
    from headrace.http.acts import Acts
    from headrace.http.board import Facts
    from headrace.http.replay_rows import AppChoice, ReplayChoices, TableOverTime

HOUR_US, DAY_US = 3_600 * SECOND_US, 86_400 * SECOND_US


@dataclass(frozen=True, slots=True)
class FormState:
    """What was typed, and what came of it: a plan, or a problem."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    plan: Mapping[str, Any] | None = None
    run_id: str | None = None
    problem: HeadraceError | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The fields as the form shows them."""

    values: Mapping[str, Sequence[str]]
    mistakes: Mapping[str, Sequence[tuple[str, str]]]

    def text(self, name: str) -> str:
        """Return what a field holds."""
        return (self.values.get(name) or [""])[0]

    def all(self, name: str) -> Sequence[str]:
        """Return everything that a field holds."""
        return self.values.get(name) or ()

    def wrong(self, name: str) -> Sequence[tuple[str, str]]:
        """Return what is wrong with a field, each with what to do."""
        return self.mistakes.get(name, ())


def new_page(acts: Acts, state: FormState) -> Page | None:
    """Return the page that asks for a replay; None where none can be started."""
    choices = acts.replay_choices()
    if choices is None:
        return None
    values: dict[str, Sequence[str]] = dict(values_of(state.values))
    app = choices.app((values.get("app") or [""])[0])
    tables = _tables(values, choices, app)
    over_time = acts.tables_over_time(tables) if tables else ()
    if app is not None or tables:
        values = _with_period(values, over_time)
    if app is not None and app.can_stage and not {"start_ts", "end_ts"} & state.values.keys():
        values.setdefault("stage", ["yes"])
    shown = Shown(values, _mistakes(state.problem))
    html = render(
        "replay_new.html",
        shown=shown,
        choices=choices,
        app=app,
        tables=tables,
        over_time=over_time,
        picture=tables_picture(over_time, shown.text("start_ts"), shown.text("end_ts")),
        hidden=[(name, one) for name, many in values.items() for one in many if name != "run_id"],
        problem=state.problem,
        plan=state.plan,
        plan_picture=None if state.plan is None else plan_picture(state.plan),
        run_id=state.run_id,
        select=SELECT,
    )
    return Page("New replay", [Part("new", html)], choices, "replays")


def comparison_page(
    facts: Facts | None, run_id: str, options: Mapping[str, str], problem: HeadraceError
) -> Page | None:
    """Return the result of a replay with a comparison that could not be made."""
    detail = None if facts is None else facts.replay_detail(run_id)
    if detail is None:
        return None
    shown = Shown({name: [text] for name, text in options.items()}, _mistakes(problem))
    html = render(
        "replay_result.html",
        detail=detail,
        shown=shown,
        problem=problem,
        plan_picture=None if detail.plan is None else plan_picture(detail.plan),
    )
    return Page(f"Replay {run_id}", [Part("result", html)], None, "replays")


def _tables(
    values: Mapping[str, Sequence[str]], choices: ReplayChoices, app: AppChoice | None
) -> list[str]:
    """Return the tables that would be read: those that were chosen, and no others."""
    if app is None:
        wanted = [one for text in values.get("tables", ()) for one in text.split(",")]
        return [one for one in wanted if one in choices.tables]
    found = []
    for source in app.sources:
        chosen = (values.get(f"{SELECT}{source.name}") or [""])[0]
        table = next((one.table for one in source.candidates if one.name == chosen), None)
        found.append(table or source.read)
    return list(dict.fromkeys(found))


def _with_period(
    values: Mapping[str, Sequence[str]], over_time: Sequence[TableOverTime]
) -> dict[str, Sequence[str]]:
    """Return the fields with a period to begin with: the last whole hour, or day, of all tables."""
    found = dict(values)
    known = [one for one in over_time if one.first is not None and one.last is not None]
    if "start_ts" in found or "end_ts" in found or not known:
        return found
    ends = [
        parse_time_us(min(one.last or "", one.complete_up_to or one.last or "")) for one in known
    ]
    first_us = min(parse_time_us(one.first or "") for one in known)
    last_us = min(ends) + 1
    each_us = DAY_US if last_us - first_us > 3 * DAY_US else HOUR_US
    end_us = last_us - last_us % each_us
    if end_us <= first_us:
        # There is less than a whole one: all of it.
        first_us, end_us = first_us - first_us % HOUR_US, last_us - last_us % HOUR_US + HOUR_US
    else:
        first_us = max(first_us - first_us % each_us, end_us - each_us)
    found["start_ts"], found["end_ts"] = [_second(first_us)], [_second(end_us)]
    return found


def _second(us: int) -> str:
    return f"{format_time_us(us)[:19]}Z"


def _mistakes(problem: HeadraceError | None) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for one in problem.mistakes if isinstance(problem, RequestRefused) else ():
        found.setdefault(one.field, []).append((one.message, one.advice))
    return found
