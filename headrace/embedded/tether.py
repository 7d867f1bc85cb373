"""Runs a program that does not outlive whoever asked for it.

`python -m headrace.embedded.tether PARENT_PID program …` asks the kernel to send SIGTERM when
the parent dies, however it dies, and becomes the program. Where the kernel cannot do that
(it is Linux's own), the mark that the parent left on disk lets the next start clear up.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent, then become the program."""
    parent, program = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            # It died before the kernel knew of the tie.
            sys.exit(1)
    os.execvp(program[0], program)  # noqa: S606 - becoming the program is the purpose


if __name__ == "__main__":
    main()
