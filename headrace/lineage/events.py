"""OpenLineage's events of a run, made of what is known of it. Imported where lineage is configured."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    catalog_dataset,
    dataset_version_dataset,
    error_message_run,
    input_statistics_input_dataset,
    job_type_job,
    nominal_time_run,
    output_statistics_output_dataset,
    processing_engine_run,
    schema_dataset,
    symlinks_dataset,
    tags_run,
    test_run,
)

from headrace.lineage.counts import Written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from headrace.lineage.counts import Counts
    from headrace.lineage.jobs import LineageDataset, LineageJob, LineageResult
    from headrace.lineage.naming import Column, NamedDataset
    from headrace.lineage.runs import LineageRun

INTEGRATION: Final = "HEADRACE"
VERSION: Final = metadata.version("headrace")
PRODUCER: Final = f"urn:headrace:{VERSION}"


def event_of(  # noqa: PLR0913, PLR0917 - what an event is made of
    run: LineageRun,
    state: str,
    at: str,
    namespace: str,
    interval: timedelta,
    datasets: Iterable[tuple[LineageDataset, NamedDataset]],
    counts: Counts,
) -> RunEvent:
    """Return the event of a run that has come to this state."""
    job, named = run.job, {one.location: name for one, name in datasets}
    return RunEvent(
        eventTime=at,
        eventType=RunState[state],
        run=Run(run.run_id, _run_facets(run)),
        job=Job(namespace, job.name, {"jobType": _job_type(job, interval)}),
        inputs=[
            _input(one, named[one.location], run.result, counts)
            for one in job.inputs
            if one.location in named
        ],
        outputs=[
            _output(one, named[one.location], run, counts)
            for one in run.outputs
            if one.location in named
        ],
        producer=PRODUCER,
    )


def _run_facets(run: LineageRun) -> dict[str, Any]:
    job, result = run.job, run.result
    facets: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            VERSION, "headrace", metadata.version("openlineage-python"), producer=PRODUCER
        )
    }
    if job.period is not None:
        facets["nominalTime"] = nominal_time_run.NominalTimeRunFacet(*job.period, producer=PRODUCER)
    if job.tags:
        tags = [
            tags_run.TagsRunFacetFields(key, value, INTEGRATION) for key, value in job.tags.items()
        ]
        facets["tags"] = tags_run.TagsRunFacet(tags, producer=PRODUCER)
    if run.error is not None:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            run.error, "python", producer=PRODUCER
        )
    if result is not None and result.tests:
        facets["test"] = test_run.TestRunFacet(_tests(result), producer=PRODUCER)
    return facets


def _tests(result: LineageResult) -> list[test_run.TestExecution]:
    return [
        test_run.TestExecution(
            one.name,
            "pass" if one.has_passed else "fail",
            severity="error",
            description=one.description,
            expected=one.expected,
            actual=one.actual,
        )
        for one in result.tests
    ]


def _job_type(job: LineageJob, interval: timedelta) -> job_type_job.JobTypeJobFacet:
    pattern = job_type_job.EmissionPattern("EVENT_BASED", "ACCUMULATIVE")
    if job.is_lasting:
        seconds = max(1, int(interval.total_seconds()))
        pattern = job_type_job.EmissionPattern("PERIODIC", "ACCUMULATIVE", seconds)
    return job_type_job.JobTypeJobFacet(
        "STREAMING" if job.is_lasting else "BATCH",
        INTEGRATION,
        job.kind,
        pattern,
        producer=PRODUCER,
    )


def _input(
    dataset: LineageDataset, named: NamedDataset, result: LineageResult | None, counts: Counts
) -> InputDataset:
    where, rows, snapshot = dataset.location, counts.read(dataset.counted), None
    if result is not None:
        snapshot, rows = result.snapshots.get(where), result.rows_read.get(where, rows)
    statistics = input_statistics_input_dataset.InputStatisticsInputDatasetFacet
    return InputDataset(
        named.namespace,
        named.name,
        # What is read of a table is a snapshot that was chosen, and not the newest.
        facets=_facets(named, snapshot),
        inputFacets={}
        if rows is None
        else {"inputStatistics": statistics(rows, producer=PRODUCER)},
    )


def _output(
    dataset: LineageDataset, named: NamedDataset, run: LineageRun, counts: Counts
) -> OutputDataset:
    written, result = counts.written(dataset.counted), run.result
    if result is not None and result.rows_written is not None:
        written = Written(result.rows_written)
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
    return OutputDataset(
        named.namespace,
        named.name,
        facets=_facets(named, named.snapshot_id),
        outputFacets={}
        if written == Written()
        else {
            "outputStatistics": statistics(
                written.rows, written.size, written.files, producer=PRODUCER
            )
        },
    )


def _facets(named: NamedDataset, snapshot_id: int | None) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if named.columns:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(
            _fields(named.columns), producer=PRODUCER
        )
    if named.symlink is not None:
        link = symlinks_dataset.Identifier(*named.symlink, "TABLE")
        facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet([link], producer=PRODUCER)
    if named.catalog is not None and named.catalog_type is not None:
        facets["catalog"] = catalog_dataset.CatalogDatasetFacet(
            "iceberg", named.catalog_type, named.catalog, source="headrace", producer=PRODUCER
        )
    if snapshot_id is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(
            str(snapshot_id), producer=PRODUCER
        )
    return facets


def _fields(columns: Sequence[Column]) -> list[schema_dataset.SchemaDatasetFacetFields]:
    return [
        schema_dataset.SchemaDatasetFacetFields(
            one.name,
            one.type,
            ordinal_position=number,
            fields=_fields(one.columns),
        )
        for number, one in enumerate(columns, 1)
    ]
