"""Small translations of the face: addresses, errors, times, patches, CSV, columns."""

from datetime import UTC, datetime

import pytest
from evenhand_openscale.assets import AssetPropertiesIn, columns_json
from evenhand_openscale.bodies import Operation, patched
from evenhand_openscale.door import PREFIXES, envelope_of
from evenhand_openscale.refused import Refused
from evenhand_openscale.times import read_time


def test_addresses_of_rest_v1_and_of_pages_are_not_of_this_face() -> None:
    assert not any(path.startswith(PREFIXES) for path in ("/v1/deployments", "/", "/v2", "/openscales/v2/x", "/deployments/openscale"))


def test_the_first_error_holds_everything_because_the_sdk_shows_no_other() -> None:
    problem = {
        "type": "urn:evenhand:problem:invalid-input",
        "detail": "name: is required; url: is no URL",
        "errors": [{"field": "name", "message": "is required"}, {"field": "url", "message": "is no URL"}],
        "request_id": "one",
    }
    found = envelope_of(problem)

    assert (found["trace"], found["errors"][0]["code"]) == ("one", "invalid-input")
    assert [error["message"] for error in found["errors"]] == ["name: is required; url: is no URL", "name: is required", "url: is no URL"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("2026-11-13 11:21:17.029866", datetime(2026, 11, 13, 11, 21, 17, 29866, tzinfo=UTC)),
        ("2026-11-13T11:21:17Z", datetime(2026, 11, 13, 11, 21, 17, tzinfo=UTC)),
        ("2026-11-13 11:21:17 00:00", datetime(2026, 11, 13, 11, 21, 17, tzinfo=UTC)),
        ("2026-11-13T13:21:17+02:00", datetime(2026, 11, 13, 11, 21, 17, tzinfo=UTC)),
        ("", None),
        (None, None),
    ],
)
def test_times_are_read_as_sdks_send_them(sent: str | None, expected: datetime | None) -> None:
    assert read_time("start", sent) == expected


@pytest.mark.parametrize("sent", ["yesterday", "2026-13-01", "0001-01-01T00:00:00+10:00"])
def test_what_is_no_time_is_refused_by_name(sent: str) -> None:
    with pytest.raises(Refused, match="start"):
        read_time("start", sent)


def operations(*sent: dict[str, object]) -> list[Operation]:
    return [Operation.model_validate(operation) for operation in sent]


def test_a_patch_replaces_what_is_not_there_yet_and_paths_may_lack_their_stroke() -> None:
    changes = operations({"op": "replace", "path": "asset_properties/label_column", "value": "Risk"}, {"op": "remove", "path": "/old"})

    assert patched({"asset_properties": {}, "old": 1}, changes) == {"asset_properties": {"label_column": "Risk"}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/a/b/c", "value": 1},
        {"op": "move", "path": "/a"},
        {"op": "test", "path": "/a", "value": 2},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "add", "path": "/~2", "value": 1},
    ],
)
def test_a_patch_that_cannot_be_done_names_its_operation(operation: dict[str, object]) -> None:
    with pytest.raises(Refused, match=r"\[0\]"):
        patched({"a": 1, "l": []}, operations(operation))


def test_columns_json_a_schema_that_are_no_features_are_meta_fields() -> None:
    fields = [{"name": "income", "type": "double"}, {"name": "job", "type": "integer"}, {"name": "sex", "type": "string"}]
    fields.append({"name": "Risk", "type": "string"})
    fields.append({"name": "scoring_id", "type": "string", "metadata": {"modeling_role": "record-id"}})
    properties = AssetPropertiesIn.model_validate(
        {
            "feature_fields": ["income", "job"],
            "categorical_fields": ["job"],
            "label_column": "Risk",
            "training_data_schema": {"fields": fields},
        }
    )
    found = columns_json(properties)

    assert found["features"] == [
        {"name": "income", "type": "number", "kind": "numeric"},
        {"name": "job", "type": "integer", "kind": "categorical"},
    ]
    assert [column["name"] for column in found["meta"]] == ["sex"]


def test_without_a_schema_categorical_fields_are_text_and_the_others_numbers() -> None:
    found = columns_json(AssetPropertiesIn(feature_fields=["sex", "income"], categorical_fields=["sex"]))

    assert [column["type"] for column in found["features"]] == ["string", "number"]


def test_a_subscription_without_features_says_so() -> None:
    with pytest.raises(Refused, match="feature_fields"):
        columns_json(AssetPropertiesIn())
