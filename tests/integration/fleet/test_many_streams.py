"""What a stream more costs a fleet: no client, no thread, no question of its own."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.config.load import load_stream, load_workspace
from headrace.config.stream.effective import effective
from headrace.embedded.process import wait_until
from headrace.kafka.sender import KafkaRecord, Sender
from headrace.kafka.shared import SharedClusters
from headrace.line.job import Outlook
from router.ledger.claims import TakenOver
from router.run.jobs import StreamRouter
from tests.limits import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.config.workspace.workspace import Cluster, Workspace
    from headrace.embedded.broker import Broker
    from router.run.job import RouterJob

SCHEMA = {"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}]}


@pytest.fixture
def workspace(tmp_path: Path, broker: Broker) -> Workspace:
    servers = {"here": {"bootstrap_servers": broker.bootstrap_servers}}
    (tmp_path / "headrace.yaml").write_text(json.dumps({"clusters": servers}))
    (tmp_path / "event.avsc").write_text(json.dumps(SCHEMA))
    return load_workspace(tmp_path)


def job_of(workspace: Workspace, shared: SharedClusters, name: str, held: ExitStack) -> RouterJob:
    """Return the job of a new stream, which has begun."""
    source = {"type": "kafka", "cluster": "here", "topic": f"{name}_in", "format": "json"}
    sink = {"type": "kafka", "cluster": "here", "topic": f"{name}_out", "format": "json"}
    stream = {
        "kind": "stream",
        "name": name,
        "source": source | {"schema": "event.avsc"},
        "outputs": [{"name": "all", "sink": sink}],
    }
    path = workspace.root / f"{name}.yaml"
    path.write_text(json.dumps(stream))
    shared.of(workspace.cluster("here")).kafka.ensure_topic(f"{name}_in", 2)
    router = StreamRouter(
        workspace, effective(load_stream(path, workspace), workspace, None), shared=shared
    )
    (query,) = held.enter_context(router.queries(lambda: 2, once=False, at_once=True))
    query.job.begin()
    return query.job


def client_threads() -> int:
    """Return how many threads Kafka's clients have in this process."""
    names = [one / "comm" for one in Path("/proc/self/task").iterdir()]
    return sum(one.read_text().startswith("rdk:") for one in names)


def outlooks(jobs: Sequence[RouterJob], since_s: float) -> list[Outlook]:
    """Ask all of them as a line does, until all know."""
    found: list[Outlook] = []

    def are_known() -> bool:
        found[:] = [one.outlook(since_s) for one in jobs]
        return Outlook.SOON not in found

    assert wait_until(are_known, LIMIT_S)
    return found


def are_idle(jobs: Sequence[RouterJob]) -> None:
    """Wait until all are known to have nothing to do: topics that are new are heard of later."""
    assert wait_until(lambda: set(outlooks(jobs, _now())) == {Outlook.NOTHING}, LIMIT_S)


@contextmanager
def at_work(workspace: Workspace, names: Sequence[str]) -> Iterator[list[RouterJob]]:
    with ExitStack() as held:
        shared = SharedClusters()
        yield [job_of(workspace, shared, name, held) for name in names]


def test_a_stream_more_is_no_client_and_no_question_more(workspace: Workspace) -> None:
    cluster: Cluster = workspace.cluster("here")
    shared = SharedClusters()
    with ExitStack() as held:
        few = [job_of(workspace, shared, f"few_{number}", held) for number in range(3)]
        are_idle(few)
        threads = client_threads()
        more = [job_of(workspace, shared, f"more_{number}", held) for number in range(12)]
        jobs = [*few, *more]
        watch = shared.of(cluster).watch
        are_idle(jobs)
        asked = watch.questions
        assert outlooks(jobs, _now()) == [Outlook.NOTHING] * 15
        # A client has four threads or more; each question is about the topics of all that ask.
        assert client_threads() - threads < 12
        assert watch.questions - asked < 15

        sender = Sender(cluster, "more_7_in")
        sender.send(KafkaRecord(b'{"id": 1}'))
        sender.close()
        found = outlooks(jobs, _now())
        assert [job.name for job, one in zip(jobs, found, strict=True) if one is Outlook.ASK] == [
            jobs[10].name
        ]
        asked = watch.questions
        batch = jobs[10].next_batch()
        assert batch is not None
        assert sum(batch.ends.values()) == 1
        assert watch.questions == asked


def test_a_claim_of_another_process_is_seen_by_one_that_has_nothing_to_do(
    workspace: Workspace,
) -> None:
    with at_work(workspace, ["taken", "left"]) as (taken, left):
        are_idle([taken, left])
        with ExitStack() as held:
            other = SharedClusters()
            path = workspace.root / "taken.yaml"
            stream = effective(load_stream(path, workspace), workspace, None)
            router = StreamRouter(workspace, stream, shared=other)
            # Another host: what is locked is this one's folder.
            ledgers = router._ledgers  # noqa: SLF001 - without the locks
            held.callback(ledgers.close)
            ledgers.on("here").claim(
                taken._claims["here"].members,  # noqa: SLF001 - what it holds
                taken._topic.topic_id,  # noqa: SLF001 - as above
                "take_over",
                None,
            )
            # An idle job asks for its ledger every few seconds.
            seen = [Outlook.ASK, Outlook.NOTHING]
            assert wait_until(lambda: outlooks([taken, left], _now()) == seen, LIMIT_S)
            with pytest.raises(TakenOver):
                taken.next_batch()


def _now() -> float:
    return time.monotonic()
