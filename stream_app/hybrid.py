"""Hybrid sources of an application: opened together, so that their histories stay aligned."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from backfill.run.planning import sources_of
from backfill.run.request import state_of
from backfill.run.watermarks import log_widening, watermarks_of
from headrace.application.live import LiveStart, live_options
from headrace.application.transform import bound_ahead, with_watermarks
from headrace.config.app.check_sources import differences
from headrace.config.app.file import HybridSource, IcebergSource, KafkaTopics
from headrace.contract import own_columns
from headrace.errors import Terminal, UsageError
from headrace.schema.avro import stored_avro
from headrace.schema.iceberg import from_iceberg
from stream_app import hybrid_source
from stream_app.hybrid_plan import Pair, hand_over

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from headrace.config.load import LoadedApp


def hybrid_streams(opening: LiveStart, hybrids: Mapping[str, HybridSource]) -> dict[str, DataFrame]:
    """Return a stream for each of them: the tables' history in aligned steps, then the topics.

    Their watermarks are set. Nothing begins where a record is neither in the table nor in the topic
    any more.
    """
    if not hybrids:
        return {}
    spark, workspace, app = opening.spark, opening.workspace, opening.app
    pairs = {name: _pair(app, name, source) for name, source in hybrids.items()}
    run_id = f"hybrid-{app.config.name}"
    marks = watermarks_of(app, {name: pair.past.identifier for name, pair in pairs.items()})
    handover = hand_over(workspace, pairs, run_id, marks, fresh=opening.fresh)
    plan = state_of(workspace, run_id).plan()
    log_widening(plan)
    tables = sources_of(workspace, plan)
    spark.dataSource.register(hybrid_source.HybridSource)
    streams = {}
    for name, pair in pairs.items():
        options = live_options(opening, hybrids[name].live, bound_ahead(app, name))
        table = tables[pair.past.identifier]
        columns = from_iceberg(table.table.schema(), table.table.properties)
        live = stored_avro(options["schema"], "the source's schema")
        found = list(differences(own_columns(columns), live, ("the table", "the topic")))
        if found:
            raise Terminal(
                f"the table and the topic of {name} have different columns: {'; '.join(found)}",
                "give them one schema",
            )
        options |= {
            "plan": str(handover.plan_file),
            "table": pair.past.identifier,
            "handover": json.dumps(handover.offsets[name]),
        }
        streams[name] = spark.readStream.format(hybrid_source.NAME).options(**options).load()
    # What the histories deliver out of order is late for a watermark that is no wider than live.
    return with_watermarks(app, streams, plan.widening())


def _pair(app: LoadedApp, name: str, source: HybridSource) -> Pair:
    past, live = app.config.sources.get(source.past), app.config.sources.get(source.live)
    if not isinstance(past, IcebergSource) or not isinstance(live, KafkaTopics):
        raise UsageError(
            f"{name} of {app.config.name} is not a hybrid source of a table and topics",
            "past: a source of type iceberg; live: a source of type kafka",
        )
    return Pair(past, live, source.order)
