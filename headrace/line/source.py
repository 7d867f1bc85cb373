"""The source of a line for Spark: a partition is a pack of work, and its rows are the answers.

Spark asks in a process of its own, which knows nothing: the line in the driver decides what there
is to do. Whoever imports this waits for no other library.
"""

from __future__ import annotations

import pickle
import struct
from multiprocessing.connection import Client
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from headrace.line.packs import done
from headrace.line.questions import LATEST, WORKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from headrace.line.job import Answer
    from headrace.line.packs import Piece

NAME: Final = "headrace_line"
ANSWERS: Final = "job STRING, answer BINARY, events BIGINT, bytes BIGINT, lag BIGINT"


class LineSource(DataSource):
    """`spark.readStream.format("headrace_line")`; the option `socket` is where the line listens."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return NAME

    def schema(self) -> str:
        """Return the columns of an answer."""
        return ANSWERS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's name
        """Return the reader that asks the line."""
        return LineReader(self.options)


class WorkPartition(InputPartition):
    """What a task does: a pack of pieces of work."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__(None)
        self.pieces = pieces


class LineReader(DataSourceStreamReader):
    """Asks the line for batches, and does their work in tasks."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._socket = options["socket"]
        self._connection: Connection[Any, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the batch before the first."""
        return {"batch": 0}

    def latestOffset(  # noqa: N802 - Spark's name
        self,
        start: dict[str, Any] | None = None,  # noqa: ARG002 - Spark 4.2 gives both, Spark 4.1 none
        limit: object = None,  # noqa: ARG002 - as above
    ) -> dict[str, Any]:
        """Return the newest batch; the line lets us wait a moment for one."""
        newest: dict[str, Any] = self._ask(LATEST)
        return newest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002 - one batch is asked for at a time
        """Return the work of a batch."""
        return [WorkPartition(one) for one in self._ask((WORKS, end["batch"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Do the work of one task."""
        if isinstance(partition, WorkPartition):
            for piece, answer in done(partition.pieces):
                yield _answer(piece, answer)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the line's jobs have made the batch true by then."""

    def stop(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None}

    def _ask(self, question: object) -> Any:  # noqa: ANN401 - what the line answers
        if self._connection is None:
            self._connection = Client(self._socket, family="AF_UNIX")
        self._connection.send(question)
        return self._connection.recv()


def _answer(piece: Piece, answer: Answer) -> pa.RecordBatch:
    """Return the row that tells what became of a piece of work."""
    return _row(
        job=piece.job,
        answer=pickle.dumps(answer),
        events=answer.records,
        bytes=answer.bytes,
        lag=piece.lag,
    )


def _row(**values: str | bytes | int) -> pa.RecordBatch:
    """Return a row as Arrow has it; from a list pyarrow would make it with the help of pandas."""
    import pyarrow as pa  # noqa: PLC0415 - Spark's planning needs none of it

    def column(value: str | bytes | int) -> pa.Array:
        if isinstance(value, int):
            return pa.Array.from_buffers(
                pa.int64(), 1, [None, pa.py_buffer(struct.pack("=q", value))]
            )
        kind, data = (
            (pa.string(), value.encode()) if isinstance(value, str) else (pa.binary(), value)
        )
        ends = pa.py_buffer(struct.pack("=ii", 0, len(data)))
        return pa.Array.from_buffers(kind, 1, [None, ends, pa.py_buffer(data)])

    return pa.RecordBatch.from_arrays([column(value) for value in values.values()], list(values))
