"""Impressions joined with the plays that followed them within the hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody names it

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.application.transform import Sources


def build(sources: Sources) -> DataFrame:
    """Return a row for every pair of an impression and a play of the same title."""
    shown, played = sources["impressions"].alias("i"), sources["playback"].alias("p")
    together = F.expr(
        "i.user_id = p.user_id AND i.title_id = p.title_id"
        " AND p.event_ts >= i.event_ts AND p.event_ts <= i.event_ts + INTERVAL 1 HOUR"
    )
    return shown.join(played, together).selectExpr(
        "i.impression_id",
        "p.event_id AS play_id",
        "p.user_id",
        "p.title_id",
        "i.row",
        "i.event_ts AS shown_at",
        "p.event_ts AS played_at",
        "i.__metadata__.region AS region",
    )
