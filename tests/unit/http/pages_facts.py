"""What a command may show, for tests of its pages: a small workspace, and one with many streams."""

from __future__ import annotations

import http.client
import socket
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import ClusterUnreachable, Terminal, UsageError
from headrace.http.acts import Acts
from headrace.http.address import Address
from headrace.http.board import Board, Facts
from headrace.http.detail_rows import (
    DeclaredRow,
    LedgerPartition,
    LedgerRow,
    SettingRow,
)
from headrace.http.file_rows import FileChange, FileProblem, FilesCheck, FilesSaved
from headrace.http.quarantine_rows import (
    EditableFile,
    EditableStream,
    QuarantineGroup,
    QuarantineReplay,
    QuarantineRow,
    QuarantineTrial,
    Sample,
    SampleHeader,
    TriedGroup,
    TriedOutput,
)
from headrace.http.rows import (
    AppRow,
    AppSourceRow,
    NotReady,
    OutputRow,
    ReplayRow,
    ReplaySourceRow,
    StreamRow,
    TableRow,
)
from headrace.http.server import serving
from headrace.secret import Secret
from headrace.signals import Drain
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SECRET = "0123456789abcdef-long"  # noqa: S105 - the test's own
SCRIPT = "<script>alert('1')</script>"
FILE, AVSC = "streams/plays.yaml", "schemas/plays.avsc"
TEXT = "kind: stream\nname: plays\nfilter: a < b\n"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: str


@dataclass
class Served:
    board: Board
    port: int

    def ask(self, path: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body=body or None, headers=named)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read().decode())
        finally:
            connection.close()

    @contextmanager
    def events(self, query: str = "") -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.request("GET", f"/api/v1/events{query}")
            yield connection.getresponse()
        finally:
            connection.close()


@contextmanager
def served(
    facts: Facts | None = None,
    acts: Acts | None = None,
    *,
    is_open: bool = False,
    token: str | None = SECRET,
    read_only: bool = False,
) -> Iterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    board = Board("headrace up", Drain(), read_only=read_only)
    if facts is not None:
        board.show(facts, acts)
    host = "0.0.0.0" if is_open else "127.0.0.1"  # noqa: S104 - what is tested
    address = Address(host, port, None if token is None else Secret(token))
    with serving(address, board):
        yield Served(board, port)


def partition(number: int, written: int = 31, lost: int = 0) -> LedgerPartition:
    return LedgerPartition(
        number,
        began=0,
        position=48 + lost,
        end=50 + lost,
        read=48,
        written=written,
        filtered=12,
        quarantined=5,
        lost=lost,
        lost_offsets=[f"@ 0 to {lost - 1}"] if lost else [],
    )


@dataclass
class Workspace(Facts):
    """A stream with two outputs, a table, an application and a replay; tests change what they like."""

    stream_state: str = "running"
    lost: int = 0
    away: list[NotReady] = field(default_factory=list)
    ledgers: Sequence[LedgerRow] = field(
        default_factory=lambda: [LedgerRow("starts", [partition(0), partition(1)])]
    )
    value: str | None = SCRIPT
    is_kafka_away: bool = False
    read: int = 96
    text: str | None = field(default_factory=lambda: TEXT)
    hidden: str | None = None
    is_broken: bool = False
    rejected: QuarantineRow | None = None
    quarantine_replayed: QuarantineReplay | None = None

    def not_ready(self) -> list[NotReady]:
        return self.away

    def declared(self) -> Sequence[DeclaredRow]:
        return [
            DeclaredRow(
                "stream",
                "plays",
                "streams/plays.yaml",
                ["kafka:fronting/plays_raw"],
                ["kafka:consumer/plays_starts", "search:plays"],
                ["starts", "all"],
                "kafka:fronting/plays_raw.quarantine",
            ),
            DeclaredRow(
                "lake_table",
                "starts",
                "tables/starts.yaml",
                ["kafka:consumer/plays_starts"],
                ["iceberg:lake.tv.starts"],
            ),
            DeclaredRow(
                "app",
                "rmi",
                "apps/rmi.yaml",
                ["iceberg:lake.tv.starts"],
                ["iceberg:lake.tv.rmi"],
            ),
        ]

    def streams(self) -> Sequence[StreamRow]:
        outputs = [
            OutputRow(
                "starts",
                self.stream_state,  # type: ignore[arg-type]  # the tests' own
                None,
                4,
                self.read,
                62,
                24,
                0,
                10,
                self.lost,
                "2026-03-01T12:00:00.000000Z",
            ),
            OutputRow("all", "running", None, 0, 96, 96, 0, 0, 0, 0),
        ]
        return [StreamRow("plays", self.stream_state, None, outputs)]  # type: ignore[arg-type]  # as above

    def tables(self) -> Sequence[TableRow]:
        time = "2026-03-01T12:00:00.000000Z"
        return [TableRow("starts", "lake.tv.starts", "running", None, 7, 62, time, time, 3)]

    def apps(self) -> Sequence[AppRow]:
        source = AppSourceRow("starts", "live-starts", ["live-starts", "past-starts"], 12)
        return [AppRow("rmi", "stopped", None, [source])]

    def replays(self) -> Sequence[ReplayRow]:
        return [replay_row()]

    def ledger(self, stream: str) -> Sequence[LedgerRow] | None:
        return self.ledgers if stream == "plays" else None

    def settings(self, stream: str) -> Sequence[SettingRow] | None:
        if stream != "plays":
            return None
        return [
            SettingRow("source.topic", "plays_raw", "streams/plays.yaml:3"),
            SettingRow("source.properties.sasl.password", "***", "streams/plays.yaml:4"),
            SettingRow("trigger", 5, "default"),
        ]

    def explain(self, stream: str, records: str) -> Mapping[str, Any] | None:
        if stream != "plays":
            return None
        if "refused" in records:
            raise UsageError("a line of text is not an Avro record", "wrap it")
        outputs = {"starts": {"outcome": "written", "key": SCRIPT, "value": {"text": records}}}
        return {
            "stream": stream,
            "outputs": {"starts": {"to": "topic plays_starts as json"}},
            "records": [
                {"line": 1, "bad": None, "masked": [], "outputs": outputs},
                {
                    "line": 2,
                    "bad": {
                        "rule": "required",
                        "column": "id",
                        "reason": "id is missing",
                        "becomes": "quarantine",
                    },
                },
            ],
        }

    def try_quarantine(self, stream: str, texts: Mapping[str, str]) -> QuarantineTrial | None:
        if self.is_kafka_away:
            raise ClusterUnreachable("fronting", "127.0.0.1:1", "Connection refused")
        if stream != "plays":
            return None
        refuse_others(texts)
        check = check_of({FILE: "wrong"} if self.is_broken else texts)
        if not check.ok:
            return QuarantineTrial(stream, 0, 0, check=check)
        outputs = [TriedOutput("starts", 6, 1, 3, 0, [(f"not JSON: {SCRIPT}", 3)])]
        groups = [TriedGroup("VALUE_CONVERTER", f"not JSON: {SCRIPT}", "", 10, 7, 3, 0)]
        return QuarantineTrial(stream, 10, 0, outputs, groups, check=check)

    def quarantine_files(self, stream: str) -> EditableStream | None:
        if stream != "plays":
            return None
        files = [EditableFile(FILE, self.text, "1", self.hidden), EditableFile(AVSC, "{}", "2")]
        return EditableStream(stream, files)

    def quarantine_replay(self, stream: str) -> QuarantineReplay | None:
        return self.quarantine_replayed if stream == "plays" else None

    def quarantine(self, stream: str) -> QuarantineRow | None:
        if self.is_kafka_away:
            raise ClusterUnreachable("fronting", "127.0.0.1:1", "Connection refused")
        sample = Sample(
            "plays_raw",
            1,
            17,
            "2026-03-01T12:00:00.000000Z",
            27,
            SCRIPT,
            False,
            self.value,
            False,
            headers=[SampleHeader("trace", SCRIPT), SampleHeader("raw", "ff", True)],
        )
        if self.rejected is not None:
            return self.rejected
        group = QuarantineGroup("VALUE_CONVERTER", f"not JSON: {SCRIPT}", "", 10, [sample])
        return QuarantineRow(stream, "fronting", "plays_raw.quarantine", 10, 270, 0, 0, [group])


def refuse_others(texts: Mapping[str, str]) -> None:
    for path in texts:
        if path not in {FILE, AVSC}:
            raise UsageError(f"{path} is not a file of stream plays", f"this changes {FILE}")


def check_of(texts: Mapping[str, str]) -> FilesCheck:
    """A text that says `wrong` has a mistake."""
    changes = [FileChange(path, False, "1", f"-was\n+{text}\n") for path, text in texts.items()]
    if any("wrong" in text for text in texts.values()):
        problem = FileProblem(FILE, 3, 7, f"no such thing: {SCRIPT}", "write another")
        return FilesCheck(False, [problem], files=changes)
    return FilesCheck(True, files=changes)


@dataclass
class WorkspaceActs(Acts):
    """What tests ask for is noted, and done to nothing."""

    saved: list[Mapping[str, str]] = field(default_factory=list)
    replays: int = 0
    is_running: bool = False

    def save_stream(
        self, stream: str, texts: Mapping[str, str], seen: Mapping[str, str]
    ) -> FilesSaved | None:
        if stream != "plays":
            return None
        refuse_others(texts)
        check = check_of(texts)
        if not check.ok:
            return FilesSaved(check=check)
        if seen.get(FILE) != "1":
            return FilesSaved(changed=[FILE], check=check)
        if texts[FILE] == TEXT:
            return FilesSaved(check=check)
        self.saved.append(texts)
        return FilesSaved([FILE], check=check)

    def replay_quarantine(self, stream: str) -> QuarantineReplay | None:
        if self.is_running:
            raise Terminal("a replay of the quarantine of stream plays runs already", "wait")
        self.replays += stream == "plays"
        return QuarantineReplay(stream, "starting") if stream == "plays" else None


def replay_row(**changes: object) -> ReplayRow:
    values: dict[str, object] = {
        "run_id": "replay-1",
        "state": "running",
        "steps_done": 3,
        "steps": 10,
        "rows": 3_000,
        "rows_planned": 10_000,
        "eta_s": 75.0,
        "frontier": "2026-03-01T12:00:00.000000Z",
        "threshold_ms": 900_000,
        "sources": [
            ReplaySourceRow(
                "lake.tv.plays", "2026-03-01T12:05:00.000000Z", "2026-03-01T12:00:00.000000Z"
            ),
            ReplaySourceRow(
                "lake.tv.impressions",
                "2026-03-01T11:59:00.000000Z",
                "2026-03-01T12:40:00.000000Z",
                "lake.tv.plays: 00000-7.parquet",
            ),
        ],
    }
    return ReplayRow(**(values | changes))  # type: ignore[arg-type]  # the tests' own


class Many(Facts):
    """So many streams, each with an output; `read` grows where a test says so."""

    def __init__(self, streams: int) -> None:
        self.reads = [1_000_000 + number for number in range(streams)]

    def declared(self) -> Sequence[DeclaredRow]:
        return [
            DeclaredRow(
                "stream",
                f"events_{number:03}",
                f"streams/events_{number:03}.yaml",
                [f"kafka:fronting/events.team_{number:03}"],
                [f"kafka:consumer/events.team_{number:03}.clean"],
                ["clean"],
            )
            for number in range(len(self.reads))
        ]

    def streams(self) -> Sequence[StreamRow]:
        return [
            StreamRow(
                f"events_{number:03}",
                "running",
                None,
                [
                    OutputRow(
                        "clean",
                        "running",
                        None,
                        12,
                        read,
                        read - 10,
                        5,
                        2,
                        3,
                        0,
                        "2026-03-01T12:00:00.000000Z",
                    )
                ],
            )
            for number, read in enumerate(self.reads)
        ]
