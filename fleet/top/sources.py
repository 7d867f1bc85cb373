"""Where the overview comes from: a command that serves HTTP, or what `headrace status` asks."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fleet.run_state import served_at
from fleet.status import statuses
from fleet.top.rows import TopRow, rows_of_answers, rows_of_lines
from headrace.errors import Terminal, Transient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.config.workspace.workspace import Workspace
    from headrace.http.address import Address

PATHS: Final = ("streams", "tables", "apps", "replays")
LIMIT_S: Final = 30.0
# A server that listens on all addresses is asked on loopback.
EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - it is not listened on
OK: Final = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows at a time of the monotonic clock, and where they come from."""

    rows: Sequence[TopRow]
    source: str
    at_s: float


def read(workspace: Workspace, region: str | None, asked: Address | None) -> Reading:
    """Return the state of everything.

    It comes from the address that was named, or from the `headrace up` of this workspace. If there
    is none, clusters and tables are asked, as for `headrace status`.
    """
    address = asked or served_at(workspace)
    if address is None:
        lines = statuses(workspace, region)
        return Reading(rows_of_lines(lines), "from clusters and tables", time.monotonic())
    host = EVERYWHERE.get(address.host, address.host)
    answers = _answers(replace(address, host=host))
    return Reading(rows_of_answers(answers), f"from http://{address}", time.monotonic())


def _answers(address: Address) -> dict[str, Any]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=LIMIT_S)
    try:
        return {path: _answer(connection, address, path) for path in PATHS}
    except (OSError, http.client.HTTPException) as problem:
        why = getattr(problem, "strerror", None) or type(problem).__name__
        raise Transient(
            f"nothing answers at {address} ({why})",
            "see that `headrace up`, or another command with --http, runs there; without --http, "
            "headrace top asks the clusters itself",
        ) from None
    finally:
        connection.close()


def _answer(connection: http.client.HTTPConnection, address: Address, path: str) -> Any:  # noqa: ANN401 - as JSON has it
    token = address.token
    headers = {} if token is None else {"authorization": f"Bearer {token.reveal()}"}
    connection.request("GET", f"/api/v1/{path}", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != OK:
        raise Terminal(
            f"{address} answers {answer.status} to /api/v1/{path}",
            "set HEADRACE_HTTP_TOKEN to the token of that command, and name an address that a "
            "headrace command serves",
        )
    try:
        return json.loads(body)
    except ValueError:
        raise Terminal(f"{address} is no headrace command: its answer is not JSON") from None
