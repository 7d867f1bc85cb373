"""`starts_by_daypart.yaml` calls this function. Its return type is its type in SQL."""

from datetime import datetime


def daypart(at: datetime) -> str:
    """Return the part of the day, as television names it."""
    if at.hour < 6:
        return "night"
    return "daytime" if at.hour < 18 else "prime time"
