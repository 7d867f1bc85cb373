"""A function that `starts_by_daypart.yaml` calls: its return type is its type in SQL."""

from datetime import datetime


def daypart(at: datetime) -> str:
    """Return what television calls a time of day."""
    if at.hour < 6:
        return "night"
    return "daytime" if at.hour < 18 else "prime time"
