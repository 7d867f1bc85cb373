"""Write deploy/grafana/*.json: Grafana's dashboards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tools.dashboards.application import APP
from tools.dashboards.lake_table import TABLE
from tools.dashboards.overview import OVERVIEW
from tools.dashboards.panels import COLUMNS
from tools.dashboards.replay import REPLAY
from tools.dashboards.stream import STREAM

if TYPE_CHECKING:
    from tools.dashboards.panels import Choice, Dashboard, Panel

FOLDER: Final = Path(__file__).resolve().parents[1] / "deploy" / "grafana"
SCHEMA_VERSION: Final = 39
HEIGHT: Final = 8
SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
DASHBOARDS: Final = (OVERVIEW, STREAM, TABLE, REPLAY, APP)


def as_json(board: Dashboard) -> str:
    """Return a dashboard, as Grafana imports it."""
    whole = {
        "uid": f"headrace-{board.name}",
        "title": f"headrace: {board.name.replace('-', ' ')}",
        "tags": ["headrace"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "time": {"from": "now-3h", "to": "now"},
        "refresh": "30s",
        "timezone": "utc",
        "templating": {"list": [_source(), *(_variable(one, board) for one in board.choices)]},
        "links": [
            {
                "type": "dashboards",
                "tags": ["headrace"],
                "title": "headrace",
                "asDropdown": True,
                "includeVars": False,
                "keepTime": True,
            }
        ],
        "panels": list(_panels(board)),
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def file_of(board: Dashboard) -> Path:
    """Return where a dashboard is."""
    return FOLDER / f"headrace-{board.name}.json"


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(choice: Choice, board: Dashboard) -> dict[str, Any]:
    """Return a variable whose values are a label's, of what was chosen before it."""
    before = [one.label for one in board.choices[: board.choices.index(choice)]]
    where = ",".join([f'{choice.label}!=""', *(f'{one}=~"${one}"' for one in before)])
    query = f"label_values({choice.metric.name}{{{where}}}, {choice.label})"
    return {
        "name": choice.label,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": choice.label},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels(board: Dashboard) -> list[dict[str, Any]]:
    """Return the panels, side by side as far as they fit."""
    found = []
    x = y = 0
    for number, one in enumerate(board.panels, start=1):
        if x + one.width > COLUMNS:
            x, y = 0, y + HEIGHT
        found.append(_panel(one, number, {"x": x, "y": y, "w": one.width, "h": HEIGHT}))
        x += one.width
    return found


def _panel(panel: Panel, number: int, at: dict[str, int]) -> dict[str, Any]:
    is_table = panel.kind == "table"
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": at,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {} if is_table else _options(panel.kind),
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": SOURCE,
                "expr": one.expr,
                "legendFormat": one.legend,
                **({"format": "table", "instant": True} if is_table else {}),
            }
            for place, one in enumerate(panel.queries)
        ],
    }


def _options(kind: str) -> dict[str, Any]:
    if kind == "stat":
        return {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value"}
    # A pointer shows all lines at its time, the highest first.
    return {"tooltip": {"mode": "multi", "sort": "desc"}, "legend": {"displayMode": "list"}}


if __name__ == "__main__":
    for one in DASHBOARDS:
        file_of(one).write_text(as_json(one), encoding="utf-8")
