"""The same bytes through every door: the same groups and outcomes, or the same refusal."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.field.cases import marks_of
from tests.field.commands import evenhand
from tests.field.doors import FILE_DOORS, SERVICE_DOORS, Row, ServiceDoors, TypedFile
from tests.field.drawn_files import TEXTS

HOUR = "2026-11-20T09:{:02}:00Z"
QUICK_DOORS = ("metrics", "library", "upload", "records")
ROWS_ALONE = ("import", "upload", "records", "client")
"""Doors that refuse a record by itself. Through the others a call is stored as a whole."""


def _rows(codes: Sequence[str], predictions: Sequence[str]) -> tuple[Row, ...]:
    """Some records of each code, with each of the predictions, in other shares."""
    records = [
        (code, predictions[(place * 7 + turn * turn) % len(predictions)])
        for place, code in enumerate(codes)
        for turn in range(6 + place % 5)
    ]
    return tuple(Row(f"r{number}", HOUR.format(number % 60), code, prediction) for number, (code, prediction) in enumerate(records))


def _outcomes(favourable: str, unfavourable: str, *others: str, kind: str = "string") -> TypedFile:
    rows = _rows(["a", "b", "c"], [favourable, unfavourable, *others])
    return TypedFile(rows, "a", (favourable,), (unfavourable,), prediction=kind)


def _groups(kind: str, *cells: str) -> TypedFile:
    return TypedFile(_rows(cells, ["1", "0"]), cells[0], ("1",), ("0",), code=kind, prediction="integer")


def _texts(*cells: str) -> TypedFile:
    return TypedFile(_rows(cells, ["yes", "no"]), cells[0], ("yes",), ("no",))


FILES = {
    "texts": _texts(*TEXTS),
    "texts and empty cells": _texts(*TEXTS, ""),
    "integers": _groups("integer", "0", "1", "-1", "7", "100000", "20261020", ""),
    "integers of 16 digits": _groups("integer", "1", "9007199254740993", "9007199254740992"),
    "integers of 64 bits": _groups("integer", "1", "9223372036854775807", "9223372036854775806", ""),
    "spellings of a number": _groups("number", "2", "1.0", "1", "01", "1E0", "+1", "3"),
    "decimals": _groups("number", "1.5", "0.1", "0.10", "1e5", "100000", "-0", "0", ".5", "1.", ""),
    "a text among numbers": _groups("number", "1.5", "2", "?", "n/a", " ", ""),
    "booleans": _groups("boolean", "true", "false", ""),
    "outcomes: texts": _outcomes("Ä", "männlich"),
    "outcomes: texts of digits": _outcomes("1", "0"),
    "outcomes: leading zeros": _outcomes("01", "1"),
    "outcomes: decimals as texts": _outcomes("1.0", "1"),
    "outcomes: fractions as texts": _outcomes("0.50", "0.5"),
    "outcomes: exponents as texts": _outcomes("1E5", "100000"),
    "outcomes: 16 digits as texts": _outcomes("9007199254740993", "9007199254740992"),
    "outcomes: True as a text": _outcomes("True", "False"),
    "outcomes: NA and null": _outcomes("NA", "null"),
    "outcomes: a blank at the end": _outcomes("yes ", "yes"),
    "outcomes: one that is listed nowhere": _outcomes("yes", "no", "withdrawn"),
    "outcomes: empty": _outcomes("yes", "no", ""),
    "outcomes: integers": _outcomes("1", "0", kind="integer"),
    "outcomes: negative integers": _outcomes("1", "-1", kind="integer"),
    "outcomes: integers of 16 digits": _outcomes("9007199254740993", "9007199254740992", kind="integer"),
    "outcomes: numbers": _outcomes("0.5", "1.5", kind="number"),
    "outcomes: whole decimals": _outcomes("1.0", "0.0", kind="number"),
    "outcomes: booleans": _outcomes("true", "false", kind="boolean"),
}


def _doors_of(name: str) -> list[str]:
    every = [*FILE_DOORS, *SERVICE_DOORS]
    return [door for door in every if door in FILE_DOORS or door in ROWS_ALONE or name not in ("a text among numbers", "outcomes: empty")]


def _speed_of(name: str, door: str) -> pytest.MarkDecorator:
    return (
        pytest.mark.thorough
        if door in QUICK_DOORS or name in ("texts and empty cells", "decimals", "outcomes: booleans")
        else pytest.mark.nightly
    )


@pytest.mark.parametrize(
    ("name", "door"),
    [
        pytest.param(name, door, marks=[_speed_of(name, door), *marks_of(f"doors: {name}, {door}")])
        for name in FILES
        for door in _doors_of(name)
    ],
)
def test_a_file_has_the_groups_and_outcomes_of_its_cells(doors: ServiceDoors, name: str, door: str, tmp_path: Path) -> None:
    file = FILES[name]

    counted = FILE_DOORS[door](file, tmp_path) if door in FILE_DOORS else doors.measure(file, door)

    assert counted == file.counted()


IDS = tuple(Row(code, HOUR.format(number % 60), "ab"[number % 2], str(number % 3 % 2)) for number, code in enumerate(TEXTS))


@pytest.mark.thorough
@pytest.mark.parametrize("door", ROWS_ALONE)
@pytest.mark.parametrize("labels", ["feedback records", "feedback file"])
def test_labels_find_their_records_by_ids_that_look_alike(doors: ServiceDoors, door: str, labels: str) -> None:
    file = TypedFile(IDS, "a", ("1",), ("0",), prediction="integer")
    with doors.logged(file, door) as name:
        if labels == "feedback records":
            body = {"records": [{"id": row.id, "label": int(row.prediction)} for row in IDS]}
            doors.service.client.post(f"/v1/deployments/{name}/feedback-records", json=body).raise_for_status()
        else:
            lines = ["id,label,labelled_at", *(f"{_quoted(row.id)},{row.prediction},{row.scored_at}" for row in IDS)]
            address, headers = f"/v1/deployments/{name}/imports?kind=feedback", {"Content-Type": "text/csv"}
            doors.service.client.post(address, content="\n".join(lines).encode(), headers=headers).raise_for_status()
        stored = {record["id"] for record in doors.stored(name)}
        labelled = doors.service.client.get(f"/v1/deployments/{name}/feedback-records", params={"limit": 1000}).raise_for_status().json()

    assert stored == {row.id for row in IDS}
    assert {record["id"]: str(record["label"]) for record in labelled["feedback_records"]} == {row.id: row.prediction for row in IDS}


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


HEADER = "id,scored_at,code,prediction\n"
GOOD = "r{0},2026-11-20T09:00:00Z,männlich,1\nr{0}b,2026-11-20T09:00:00Z,weiblich,0\n"
ROWS = "".join(GOOD.format(number) for number in range(20))
REFUSED = {
    "empty": b"",
    "not UTF-8": (HEADER + ROWS).encode("latin-1"),
    "UTF-16": (HEADER + ROWS).encode("utf-16"),
    "a name twice": (HEADER.replace("scored_at", "code") + ROWS).encode(),
    "no column of the prediction": (HEADER.replace("prediction", "score") + ROWS).encode(),
    "no column of the attribute": (HEADER.replace("code", "sex") + ROWS).encode(),
    "a quote that never ends": (HEADER + ROWS + 'r,2026-11-20T09:00:00Z,"männlich,1\n').encode(),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(f"doors: refused, {name}")) for name in REFUSED])
def test_a_file_is_refused_whole_at_every_door(doors: ServiceDoors, name: str, tmp_path: Path) -> None:
    file = TypedFile((Row("r", HOUR.format(0), "männlich", "1"),), "männlich", ("1",), ("0",), prediction="integer")
    path = tmp_path / "refused.csv"
    path.write_bytes(REFUSED[name])
    columns = ["--attribute=code", "--prediction=prediction", "--reference=männlich"]
    deployment = doors.register(file, "upload")
    service = ["--url", doors.service.base_url, "--key", doors.service.admin_key, "--deployment", deployment, "--state", tmp_path]

    statuses = {
        "metrics": evenhand("metrics", path, *columns).status,
        "evidence": evenhand("evidence", path, "--time=scored_at", *columns).status,
        "report": evenhand("report", "--from-csv", path, *columns, "--preset=ugesp", "--format=json").status,
        "import": evenhand("import", "payload", path, *service).status,
        "upload": doors.service.client.post(
            f"/v1/deployments/{deployment}/imports?kind=payload", content=REFUSED[name], headers={"Content-Type": "text/csv"}
        ).status_code,
    }

    assert statuses == {"metrics": 2, "evidence": 2, "report": 2, "import": 1, "upload": 422}
    assert doors.stored(deployment) == []


@pytest.mark.thorough
@pytest.mark.parametrize("door", ROWS_ALONE)
def test_an_id_with_a_control_character_is_refused_at_every_door(doors: ServiceDoors, door: str) -> None:
    rows = _rows(["a", "b"], ["1", "0"])
    file = TypedFile((*rows, Row("x\ty", HOUR.format(0), "a", "1")), "a", ("1",), ("0",), prediction="integer")
    with doors.logged(file, door) as name:
        stored = {record["id"] for record in doors.stored(name)}

    assert stored == {row.id for row in rows}
