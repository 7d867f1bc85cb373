"""How much work a call is: the bytecodes that Python executes for it, the same on any machine."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction


def work_of(call: Callable[[], object]) -> int:
    """Return the number of bytecodes that a call executes. What runs in C counts as one."""
    count = 0

    def trace(frame: FrameType, _event: str, _argument: object) -> TraceFunction:
        nonlocal count
        count += 1
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    # A collection may call Python, whenever it comes.
    gc.disable()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count
