"""Schemas that no record can be read with: the registry's answer, and not its silence."""

from __future__ import annotations

from headrace.errors import Terminal


class UnusableSchema(Terminal):
    """A schema that no record can be read with; `reason` goes on where `what` ends."""

    def __init__(self, what: str, reason: str) -> None:
        self.what = what
        self.reason = reason
        super().__init__(f"{what} {reason}")

    def again(self) -> UnusableSchema:
        """Return the same error without where it was raised before."""
        return UnusableSchema(self.what, self.reason)


class UnknownSchema(UnusableSchema):
    """What the registry says that it does not have."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "is not in the registry")

    def again(self) -> UnknownSchema:
        """Return the same error without where it was raised before."""
        return UnknownSchema(self.what)
