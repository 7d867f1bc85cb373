"""Questions asked at once: one that finds no answer keeps no other waiting."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Final, TypeVar

from headrace.errors import HeadraceError, Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

Key = TypeVar("Key", bound="Hashable")
Answer = TypeVar("Answer")

AT_MOST: Final = 32


def ask_all(
    questions: Mapping[Key, Callable[[], Answer]], limit_s: float, at_most: int = AT_MOST
) -> dict[Key, Answer | HeadraceError]:
    """Return the answer to each question, or why there is none, in the order of the questions.

    After `limit_s` in which nobody answered, what is still open counts as unanswered.
    """
    asked: queue.SimpleQueue[tuple[Key, Callable[[], Answer]]] = queue.SimpleQueue()
    answered: queue.SimpleQueue[tuple[Key, Answer | HeadraceError]] = queue.SimpleQueue()
    for one in questions.items():
        asked.put(one)

    def work() -> None:
        while True:
            try:
                key, question = asked.get_nowait()
            except queue.Empty:
                return
            answered.put((key, _answer(question)))

    # Nobody waits for their end: a client that hangs does not keep the command.
    for _ in range(min(at_most, len(questions))):
        threading.Thread(target=work, daemon=True).start()
    found: dict[Key, Answer | HeadraceError] = {}
    try:
        while len(found) < len(questions):
            key, answer = answered.get(timeout=limit_s)
            found[key] = answer
    except queue.Empty:
        pass
    silent = Transient(f"no answer within {limit_s:.0f} s")
    return {key: found.get(key, silent) for key in questions}


def _answer(question: Callable[[], Answer]) -> Answer | HeadraceError:
    try:
        return question()
    except HeadraceError as problem:
        return problem
    except Exception as problem:  # noqa: BLE001 - from any client; its words may name a secret
        return Transient(f"it failed with {type(problem).__name__}")
