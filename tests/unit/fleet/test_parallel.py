"""Questions that are asked at once."""

from __future__ import annotations

import threading
from functools import partial

from fleet.parallel import ask_all
from headrace.errors import HeadraceError, Terminal
from tests.limits import LIMIT_S


def test_each_question_has_its_answer_or_why_there_is_none() -> None:
    def refuse() -> int:
        raise Terminal("no")

    def break_down() -> int:
        raise ValueError("with a password in it")

    found = ask_all({"one": lambda: 1, "two": refuse, "three": break_down}, LIMIT_S)
    assert found["one"] == 1
    assert str(found["two"]) == "no"
    assert str(found["three"]) == "it failed with ValueError"


def test_one_that_hangs_keeps_nobody_else_waiting() -> None:
    never = threading.Event()
    try:
        found = ask_all({"hangs": never.wait, "answers": lambda: True}, 0.5)
    finally:
        never.set()
    assert found["answers"] is True
    assert isinstance(found["hangs"], HeadraceError)


def test_a_few_threads_ask_many_questions() -> None:
    found = ask_all({number: partial(int, number) for number in range(50)}, LIMIT_S, 2)
    assert list(found.items()) == [(number, number) for number in range(50)]
