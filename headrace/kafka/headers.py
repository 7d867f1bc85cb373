"""Headers of records: any bytes may be a name, and Kafka's client reads UTF-8 alone."""

from __future__ import annotations

import gc
from collections import deque
from operator import length_hint
from typing import TYPE_CHECKING, Any, Final, cast

from confluent_kafka import Message as ClientMessage

from headrace.records.rows import HalfReadMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.kafka.message import Message

# A name whose bytes the client does not tell: it tells only those of the first of several.
UNKNOWN_NAME: Final = "(no UTF-8)"
LONGEST_SHOWN: Final = 100

_headers_of = cast("Callable[[ClientMessage], object]", ClientMessage.headers)


def with_readable_headers(messages: list[ClientMessage]) -> list[Message]:
    """Return the messages; one that has a name that is no UTF-8 as a HalfReadMessage.

    Nobody else may ask a message for its headers before. The client makes them at the first
    question; where a name is no UTF-8, it raises SystemError then, and answers a second question
    with tuples that have a hole in them: whoever touches that ends the process.
    """
    whole: list[Any] = messages
    rest = iter(messages)
    while True:
        try:
            deque(map(_headers_of, rest), maxlen=0)
        except SystemError as problem:
            name = _unreadable_name(problem)
            if name is None:
                raise
            at = len(messages) - length_hint(rest) - 1
            if whole is messages:
                whole = list(messages)
            whole[at] = _half_read(messages[at], name)
        else:
            return whole


def _unreadable_name(problem: BaseException) -> bytes | None:
    """Return the first name that the client could not read; each further one wraps the error."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, UnicodeDecodeError):
            return cause.object
        cause = cause.__cause__
    return None


def _half_read(message: ClientMessage, name: bytes) -> HalfReadMessage:
    shown = name.decode(errors="backslashreplace")
    # What has the holes goes.
    message.set_headers(_readable(message, shown))  # type: ignore[arg-type]  # it takes what a producer takes
    if len(shown) > LONGEST_SHOWN:
        shown = f"{shown[:LONGEST_SHOWN]}…"
    return HalfReadMessage(cast("Message", message), f"the name of a header is no UTF-8: {shown}")


def _readable(message: ClientMessage, first_unreadable: str) -> list[tuple[str, bytes | None]]:
    """Return the headers; a name that is no UTF-8 is shown with its bytes escaped, where known."""
    found: list[tuple[str, bytes | None]] = []
    name = first_unreadable
    for header in _made(message):
        # The collector's view of a tuple leaves holes out, and touches nothing.
        parts: Sequence[Any] = gc.get_referents(header)
        if len(parts) == len(header):
            found.append(header)
            continue
        found.append((name, parts[0] if parts else None))
        name = UNKNOWN_NAME
    return found


def _made(message: ClientMessage) -> Sequence[tuple[str, bytes | None]]:
    """Return the headers as the client made them; a second question could be its end."""
    lists = [one for one in gc.get_referents(message) if isinstance(one, list)]
    return lists[0] if lists else []
