"""A text that is shown to nobody."""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

MASK = "***"
# A setting of Spark or of a client whose name has one of these holds a secret.
SECRET_NAMES: Final = r"(?i)secret|password|token|credential|jaas|access[.]?key|account[.]?key"  # noqa: S105 - names


def is_secret_name(name: str) -> bool:
    """Whether a setting of that name holds a secret, whoever wrote it and where."""
    return re.search(SECRET_NAMES, name) is not None


class Secret:
    """A text that only `reveal` gives; printed, formatted or serialised it is `***`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text itself, for the client that needs it."""
        return self._value

    def __str__(self) -> str:
        return MASK

    def __repr__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        # A pickle ends in a checkpoint or on a wire, where nobody masks anything.
        message = "a Secret cannot be pickled: call reveal() where it is used"
        raise TypeError(message)
