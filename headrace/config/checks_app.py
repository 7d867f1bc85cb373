"""What must hold between the keys of an application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.checks_app_sink import check_app_sink
from headrace.config.checks_candidates import check_candidates, check_halves
from headrace.config.checks_functions import check_functions
from headrace.config.checks_hygiene import check_required
from headrace.config.checks_kafka import check_registry, check_source, columns_of
from headrace.config.checks_lookups import check_lookups
from headrace.config.checks_stream import report_expression
from headrace.config.checks_watermarks import check_watermarks
from headrace.config.problems import did_you_mean
from headrace.expressions.query import check_query

if TYPE_CHECKING:
    from headrace.config.document import KeyPath
    from headrace.config.sheet import Sheet
    from headrace.expressions.columns import Columns
    from headrace.schema.model import Record


def check_app(sheet: Sheet) -> dict[str, Record]:
    """Report every contradiction in an application; return the schemas of its live sources."""
    schemas: dict[str, Record] = {}
    columns: dict[str, Columns] = {}
    for name in sheet.mapping("sources"):
        path: KeyPath = ("sources", name)
        kind = sheet.text(*path, "type")
        if kind == "kafka":
            schema, is_raw = check_source(sheet, path)
            check_registry(sheet, path)
            check_required(sheet, (*path, "hygiene", "required"), columns_of(schema, is_raw=is_raw))
            columns[name] = columns_of(schema, is_raw=is_raw)
            if schema is not None:
                schemas[name] = schema
        elif kind == "iceberg":
            sheet.check_catalog(*path, "catalog")
        elif kind == "dynamic":
            _check_dynamic(sheet, path)
        elif kind == "hybrid":
            check_halves(sheet, path)
    _check_cycles(sheet)
    check_candidates(sheet, schemas)
    check_lookups(sheet)
    _check_transform(sheet)
    check_watermarks(sheet, columns)
    check_app_sink(sheet)
    return schemas


def _check_dynamic(sheet: Sheet, path: KeyPath) -> None:
    written = sheet.items(*path, "candidates")
    names = sheet.mapping("sources")
    candidates: list[str] = []
    for number, _ in enumerate(written):
        place = (*path, "candidates", number)
        candidate = sheet.text(*place)
        if candidate is None:
            continue
        if candidate in candidates:
            sheet.report(place, f"{sheet.shown(*place)} is listed twice", "remove one")
        elif candidate not in names:
            others = [name for name in names if name != path[-1]]
            sheet.unknown(place, f"no source is named {sheet.shown(*place)}", others)
        candidates.append(candidate)
    selected = sheet.text(*path, "selected")
    if selected is not None and written and selected not in candidates:
        message = f"selected {sheet.shown(*path, 'selected')} is not among the candidates"
        secret = any(sheet.is_secret(*path, "candidates", n) for n, _ in enumerate(written))
        hidden = secret or sheet.is_secret(*path, "selected")
        suggestion = "" if hidden else did_you_mean(selected, candidates)
        sheet.report((*path, "selected"), message, suggestion)


def _check_cycles(sheet: Sheet) -> None:
    """Report each circle of dynamic sources once, at the source of it that the file names first."""
    leads = {
        name: [
            one
            for number, _ in enumerate(sheet.items("sources", name, "candidates"))
            if (one := sheet.text("sources", name, "candidates", number)) is not None
        ]
        for name in sheet.mapping("sources")
        if sheet.text("sources", name, "type") == "dynamic"
    }
    told: set[str] = set()
    for name in leads:
        circle = _way_back(name, leads)
        if circle and not told & set(circle):
            told |= set(circle)
            way = " → ".join([*circle, circle[0]])
            path = ("sources", name, "candidates")
            sheet.report(path, f'source "{name}" leads back to itself: {way}', "break the circle")


def _way_back(start: str, leads: dict[str, list[str]]) -> list[str]:
    """Return the shortest way from a source to itself, nothing where there is none."""
    ways, seen = [[start]], {start}
    while ways:
        longer: list[list[str]] = []
        for way in ways:
            for following in leads.get(way[-1], ()):
                if following == start:
                    return way
                if following not in seen:
                    seen.add(following)
                    longer.append([*way, following])
        ways = longer
    return []


def _check_transform(sheet: Sheet) -> None:
    given = [key for key in ("python", "sql", "sql_file") if key in sheet.mapping("transform")]
    if isinstance(sheet.document.get("transform"), dict) and len(given) != 1:
        said = "nothing" if not given else " and ".join(given)
        message = f"transform needs exactly one of python, sql and sql_file, and has {said}"
        sheet.report(("transform",), message, key=True)
    check_functions(sheet)
    query = sheet.text("transform", "sql")
    if query is not None:
        for problem in check_query(query):
            report_expression(sheet, ("transform", "sql"), problem)
    place = sheet.find_file("transform", "sql_file")
    if place is None:
        return
    path = ("transform", "sql_file")
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        sheet.report(path, f"{sheet.shown(*path)} is not UTF-8 text", "save it as UTF-8")
        return
    for problem in check_query(text):
        sheet.report_in(place, text, problem.offset, problem.message, problem.suggestion or "")
