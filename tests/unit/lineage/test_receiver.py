"""The check of events is itself checked: it names what is missing, and what has a wrong type."""

from __future__ import annotations

import pytest

from tests.lineage_receiver import has_spec, misfits

PRODUCER = "urn:headrace:test"
FACET = "https://openlineage.io/spec/facets/1-0-1/DatasetVersionDatasetFacet.json"
EVENT = {
    "eventTime": "2026-03-01T00:00:00Z",
    "eventType": "START",
    "producer": PRODUCER,
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "0190a1b2-0000-7000-8000-000000000000", "facets": {}},
    "job": {"namespace": "headrace", "name": "stream.playback", "facets": {}},
    "inputs": [],
    "outputs": [],
}

pytestmark = pytest.mark.skipif(not has_spec(), reason="the schemas of OpenLineage are not there")


def test_a_sound_event_passes() -> None:
    assert misfits(EVENT) == []


@pytest.mark.parametrize(
    "change",
    [
        {"eventType": "BEGIN"},
        {"eventTime": "yesterday"},
        {"run": {"runId": "1", "facets": {}}},
        {"inputs": [{"namespace": "kafka://a:1", "facets": {}}]},
    ],
)
def test_an_event_that_differs_from_the_spec_is_named(change: dict[str, object]) -> None:
    assert misfits({**EVENT, **change}) != []


@pytest.mark.parametrize(
    "facet",
    [
        {"_producer": PRODUCER, "_schemaURL": f"{FACET}#/$defs/DatasetVersionDatasetFacet"},
        {"_producer": PRODUCER, "_schemaURL": f"{FACET}#/$defs/D", "datasetVersion": 4},
        {
            "_producer": PRODUCER,
            "_schemaURL": "https://example.com/none.json",
            "datasetVersion": "4",
        },
    ],
)
def test_a_facet_that_differs_from_the_spec_is_named(facet: dict[str, object]) -> None:
    dataset = {"namespace": "file", "name": "/lake/starts", "facets": {"version": facet}}
    assert misfits({**EVENT, "outputs": [dataset]}) != []
