"""What the control room may do for whoever looks at it."""

from __future__ import annotations


class Acts:
    """What a command does when a page or a program asks for it, in the server's threads.

    Whoever can do something overrides what it is about; the others do not offer it.
    """
