"""Requests to the mitigated endpoint of which a part would be passed over if they were taken."""

from typing import Any

import pytest

from tests.builders.row_server import row_server
from tests.integration.mitigation.live import ADDRESS, FEATURES, SEX, applicant, register
from tests.service import RunningService

PATH = f"{ADDRESS}/mitigated-predictions"
NAMES = [feature["name"] for feature in FEATURES]
VALUES = list(applicant().values())
META = {"fields": ["region"], "values": [["north"]]}


def test_what_would_be_passed_over_is_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    with row_server() as server:
        register(service, server, SEX, meta=[{"name": "region", "type": "string"}, {"name": "branch", "type": "string"}])
        for body, field in (
            ({"input_data": [{"fields": NAMES, "values": [VALUES], "Meta": META}]}, "input_data[0].Meta"),
            ({"input_data": [{"fields": NAMES, "values": [VALUES], "meta": {**META, "index": [0]}}]}, "input_data[0].meta.index"),
            ({"fields": NAMES, "values": [VALUES], "meta": {**META, "index": [0]}}, "meta.index"),
            ({"dataframe_split": {"columns": NAMES, "data": [VALUES], "meta": META}}, "dataframe_split.meta"),
            ({"fields": [*NAMES, "region"], "values": [[*VALUES, "south"]], "meta": META}, "fields[4]"),
            ({"fields": [*NAMES, "branch"], "values": [[*VALUES, "b"]], "meta": META}, "fields[4]"),
            ({"input_data": [{"fields": ["region", *NAMES], "values": [["south", *VALUES]], "meta": META}]}, "input_data[0].fields[0]"),
        ):
            with subtests.test(body=body, field=field):
                refused = service.client.post(PATH, json=body)

                assert refused.status_code == 422
                assert [error["field"] for error in refused.json()["errors"]] == [field]
                assert server.counts.requests == 0


@pytest.mark.parametrize(
    "body",
    [
        {"fields": [*NAMES, "region"], "values": [[*VALUES, "north"]], "meta": None},
        {"fields": NAMES, "values": [VALUES], "meta": META},
        {"input_data": [{"fields": NAMES, "values": [VALUES], "meta": META}]},
        {"dataframe_split": {"columns": [*NAMES, "region"], "data": [[*VALUES, "north"]], "index": [7]}},
    ],
)
def test_meta_fields_in_one_place_count(service: RunningService, body: dict[str, Any]) -> None:
    region = {"feature": "region", "monitored": ["north"], "reference": ["south"]}
    with row_server() as server:
        register(service, server, region, meta=[{"name": "region", "type": "string"}])
        answer = service.client.post(PATH, json=body).raise_for_status().json()

    assert "undecided" in str(answer["values"] if "values" in answer else answer["predictions"])
