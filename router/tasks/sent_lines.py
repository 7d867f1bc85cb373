"""How a record leaves a route: its headers, and the lines that give it to a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.contract import ORIGIN, REGION_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.kafka.message import Message
    from headrace.records.rows import HeadersToSend

    Sendable: TypeAlias = bytes | str | None
    # Of topic, value, key and headers.
    Send: TypeAlias = Callable[..., None]

# Partition, two callbacks and the timestamp of `produce`: what stands before the headers.
_CLIENTS_OWN: Final = "-1, None, None, 0"
_ORIGIN: Final = "(ORIGIN, f'{origin}{m.offset()}/{m.timestamp()[1]}')"


def sent_lines(index: int, record: str, *, has_origin: bool, region: str | None) -> list[str]:
    """Return the lines that send the message `m` as the record (topic, value, key).

    `send{index}` may raise BufferError, `wait{index}` waits. `headers` are the message's with its
    origin, made once for all outputs; None before.
    """
    # By position: the client takes as long for a name of an argument as for all else. That most
    # records have no headers of their own is asked here, as a call costs more.
    if has_origin:
        own = f"{'' if region is None else 'REGION_HEADER, '}{_ORIGIN}"
        return [
            "if headers is None:",
            f"    headers = [{own}] if m.headers() is None else headers_of(m, origin)",
            f"try: send{index}({record}, {_CLIENTS_OWN}, headers)",
            f"except BufferError: wait{index}({record}, headers)",
        ]
    bare = "None" if region is None else "[REGION_HEADER]"
    return [
        f"own = {bare} if m.headers() is None else headers_without_origin(m, origin)",
        "try:",
        f"    if own is None: send{index}({record})",
        f"    else: send{index}({record}, {_CLIENTS_OWN}, own)",
        f"except BufferError: wait{index}({record}, own or ())",
    ]


def names_of_sent_lines(region: str | None) -> dict[str, object]:
    """Return what the lines use."""
    return {
        "ORIGIN": ORIGIN,
        "REGION_HEADER": (REGION_HEADER, region),
        "headers_of": headers_of(region),
        "headers_without_origin": headers_of(region, has_origin=False),
    }


def headers_of(
    region: str | None, *, has_origin: bool = True
) -> Callable[[Message, str], HeadersToSend]:
    """Return what gives a record's headers as they go on: its own, the region's, its origin."""

    def headers(message: Message, origin: str) -> HeadersToSend:
        more: list[tuple[str, str | bytes | None]] = list(message.headers() or ())
        # Behind the hop the cluster's own region would be another.
        if region is not None and all(name != REGION_HEADER for name, _ in more):
            more.append((REGION_HEADER, region))
        if has_origin:
            more.append((ORIGIN, f"{origin}{message.offset()}/{message.timestamp()[1]}"))
        return more

    return headers


def without_queue(send: Send) -> tuple[Callable[..., None], Send]:
    """Return the pair of an output that never raises BufferError."""

    def produce(
        topic: str,
        value: Sendable,
        key: Sendable,
        _partition: int = -1,
        _callback: None = None,
        _on_delivery: None = None,
        _timestamp_ms: int = 0,
        headers: HeadersToSend | None = None,
    ) -> None:
        send(topic, value, key, headers or ())

    return produce, send
