"""Errors keep their facts, say what to do, and say whether trying again can help."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.problems import Problem


class HeadraceError(Exception):
    """What a user reads: one sentence, and what to do about it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.advice}" if self.advice else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Tasks answer with errors: made of other facts than its sentence, a kind of its own would
        # not come back from them.
        return _again, (type(self), self.args, self.__dict__)


def _again(
    kind: type[HeadraceError], said: tuple[object, ...], facts: dict[str, object]
) -> HeadraceError:
    """Return an error as it was, in another process."""
    error = kind.__new__(kind)
    error.args = said
    error.__dict__.update(facts)
    return error


class Terminal(HeadraceError):
    """Trying again gives the same answer."""


class Transient(HeadraceError):
    """Trying again may help."""


class UsageError(Terminal):
    """The command's words do not fit together."""

    exit_code = 2


class BadConfig(Terminal):
    """Config files that cannot be used, with every mistake in them."""

    exit_code = 78

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class TopicMissing(Terminal):
    """A topic that the cluster does not have."""

    def __init__(self, topic: str, cluster: str, known: Sequence[str]) -> None:
        self.topic = topic
        self.known = tuple(known)
        seen = ", ".join(sorted(known)[:8]) or "none"
        super().__init__(
            f"cluster {cluster} has no topic {topic}",
            f"create it or correct its name; topics there: {seen}",
        )


class ClusterUnreachable(Transient):
    """A Kafka cluster that does not answer."""

    def __init__(self, cluster: str, bootstrap_servers: str, reason: str) -> None:
        super().__init__(
            f"no Kafka broker of cluster {cluster} answers at {bootstrap_servers} ({reason})",
            "start it (on a laptop: headrace dev), or correct bootstrap_servers, and "
            "security.protocol if it needs TLS or a login, in headrace.yaml",
        )


class TableMissing(Terminal):
    """A table that the catalog does not have."""

    def __init__(self, table: str, known: Sequence[str]) -> None:
        self.table = table
        seen = ", ".join(sorted(known)[:8]) or "none"
        super().__init__(f"there is no table {table}", f"tables in that catalog: {seen}")
