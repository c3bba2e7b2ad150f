import csv
import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.charts.pictures.twin_tables import Twin
from app.charts.routes import send_csv_file
from app.domain.deployment import Column, FieldKind, FieldType, RecordSchema
from app.domain.groups import GroupWords
from app.domain.mitigation import FlaggedRecord
from app.domain.monitor import DisplayNames, GroupName
from app.mitigation.window.flag_queries import FlaggedPayload
from app.records.second_look.bodies import FlaggedOut, RecordOut
from app.records.second_look.flagged_csv import build_csv_header, build_csv_row, write_csv_lines
from app.records.second_look.words import find_known_gap, write_reason

AT = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)


def schema(*features: str, meta: tuple[str, ...] = ()) -> RecordSchema:
    def column(name: str) -> Column:
        return Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL)

    return RecordSchema(version=1, features=tuple(map(column, features)), meta=tuple(map(column, meta)))


def flag(**changes: Any) -> FlaggedRecord:  # noqa: ANN401
    given = {"kind": "changed", "direction": "lifted", "own_score": 0.41126, "reference_score": 0.6241, "gap": 0.21284, **changes}
    return FlaggedRecord(record_no=7, attribute="sex", logged_at=AT, model_revision="r1", group="female", **given)


def found(of: FlaggedRecord, features: tuple[Any, ...], columns: RecordSchema, **changes: Any) -> FlaggedPayload:  # noqa: ANN401
    record = {"prediction": 0, "probability": 0.41126, "label": None, "mitigated": None, "meta": (), **changes}
    return FlaggedPayload(flag=of, record_id="a-7", scored_at=AT, model_revision="r0", schema=columns, features=features, **record)


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (
            flag(),
            (
                "Asked again with reference values of sex instead of female, the model's answer is favourable:"
                " the score is 0.6241 instead of 0.4113."
            ),
        ),
        (
            flag(direction="lowered", own_score=None, reference_score=None, gap=0.0),
            "Asked again with reference values of sex instead of female, the model's answer is unfavourable.",
        ),
        (
            flag(kind="likely", reference_score=None, gap=0.0, bias_score=0.83),
            (
                "The bias detector expects the model's answer to be favourable with reference values of sex instead of female"
                " (bias score 0.83)."
            ),
        ),
        (
            flag(kind="likely", direction="lowered"),
            "The bias detector expects the model's answer to be unfavourable with reference values of sex instead of female.",
        ),
    ],
)
def test_a_sentence_says_why_a_record_is_flagged(of: FlaggedRecord, sentence: str) -> None:
    assert write_reason(of, GroupWords()) == sentence


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (flag(own_score=None), "Asked again with reference values of sex instead of women, the record is rated No Risk."),
        (
            flag(direction="lowered", own_score=None),
            "Asked again with reference values of sex instead of women, the record is not rated No Risk.",
        ),
    ],
)
def test_a_sentence_has_the_names_of_the_monitor(of: FlaggedRecord, sentence: str) -> None:
    names = DisplayNames(favourable="rated No Risk", groups=(GroupName(feature="sex", group="female", name="women"),))

    assert write_reason(of, GroupWords(names)) == sentence


def test_a_gap_is_null_where_a_score_is_not_known_and_0_where_the_scores_are_equal() -> None:
    assert find_known_gap(flag(own_score=None, gap=0.0)) is None
    assert find_known_gap(flag(reference_score=None, gap=0.0)) is None
    assert find_known_gap(flag(own_score=0.5, reference_score=0.5, gap=0.0)) == 0.0


def test_a_record_is_shown_in_the_columns_it_was_logged_under() -> None:
    flagged = found(flag(), ("female", 3), schema("sex", "rooms"), meta=(), label="no")
    out = FlaggedOut.of(flagged.flag, GroupWords(), record=RecordOut.of(flagged))

    assert out.record.features == {"sex": "female", "rooms": 3}
    assert out.record.meta == {}
    assert (out.record.id, out.record.model_revision, out.record.label) == ("a-7", "r0", "no")


def test_the_line_of_a_flag_has_every_column_and_an_empty_label() -> None:
    columns = schema("sex", "income", "owner", meta=("postcode",))
    header = build_csv_header(columns)

    row = build_csv_row(found(flag(), ("female", 1e-7, None), columns, meta=(True,), probability=[0.25, 0.75]), columns)

    assert dict(zip(header, row, strict=True)) == {
        "id": "a-7",
        "logged_at": "2026-03-02T12:30:00+00:00",
        "attribute": "sex",
        "group": "female",
        "kind": "changed",
        "direction": "lifted",
        "prediction": "0",
        "probability": "[0.25,0.75]",
        "own_score": "0.41126",
        "reference_score": "0.6241",
        "gap": "0.21284",
        "sex": "female",
        "income": "0.0000001",
        "owner": "",
        "postcode": "true",
        "label": "",
    }


def test_the_prediction_is_spelt_as_the_label_is_to_be() -> None:
    columns = schema("sex")

    row = build_csv_row(found(flag(), ("female",), columns, prediction=1, label="No Risk"), columns)

    assert row[build_csv_header(columns).index("prediction")] == "No Risk"


def test_columns_of_the_record_keep_their_names_and_none_comes_twice() -> None:
    columns = schema("id", "label", "group", "flagged_gap", "gap", meta=("prediction",))

    header = build_csv_header(columns)

    assert len(set(header)) == len(header)
    assert header[0] == "record_id"
    assert header[-1] == "observed_label"
    assert {"flagged_group", "flagged_flagged_gap", "flagged_prediction"} <= set(header)
    assert header[-7:-1] == ["id", "label", "group", "flagged_gap", "gap", "prediction"]
    assert build_csv_header(schema("id", "record_id"))[0] == "flagged_id"


def test_a_column_that_the_record_was_logged_without_is_empty() -> None:
    later = schema("sex", "rooms")

    row = build_csv_row(found(flag(), ("female", "gone"), schema("sex", "old")), later)

    assert dict(zip(build_csv_header(later), row, strict=True))["rooms"] == ""
    assert "gone" not in row


@pytest.mark.parametrize("value", ['=1+1"', "+x", "@a,b", "-", "two\nlines", "\r", "Größe 😀", " a "])
def test_texts_stand_in_the_raw_file_as_they_were_logged(value: str) -> None:
    columns = schema("sex", "=name")

    row = build_csv_row(found(flag(), (value, "x"), columns), columns, is_raw=True)
    read = read_csv(write_csv_lines([build_csv_header(columns, is_raw=True), row]))

    assert [line["sex"] for line in read] == [value]
    assert [line["=name"] for line in read] == ["x"]


BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")
texts = st.text(max_size=3) | st.builds("".join, st.tuples(st.sampled_from([*BEGINNINGS, "\n", " "]), st.text(max_size=3)))
numbers = st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.thorough
@given(st.lists(st.tuples(texts, texts | numbers | st.booleans() | st.none()), max_size=4, unique_by=lambda one: one[0]), texts, texts)
def test_no_text_of_the_flagged_records_but_the_id_begins_like_a_formula(
    given_cells: list[tuple[str, Any]], group: str, label: str
) -> None:
    columns = schema(*(name for name, _ in given_cells))
    values = tuple(value for _, value in given_cells)
    one = replace(found(replace(flag(), group=group, attribute=group), values, columns, label=label), record_id="=id")

    lines = write_csv_lines([build_csv_header(columns), build_csv_row(one, columns)]).decode()
    header, row = csv.reader(io.StringIO(lines, newline=""), strict=True)

    assert row[0] == "=id"
    assert not any(name.startswith(BEGINNINGS) for name in header)
    texts_at = [place for place, value in enumerate(values, start=len(row) - 1 - len(values)) if isinstance(value, str)]
    assert not any(row[place].startswith(BEGINNINGS) for place in (*range(1, 8), *texts_at))
    numbers_at = {len(row) - 1 - len(values) + place: value for place, value in enumerate(values) if type(value) in (int, float)}
    assert all(float(row[place]) == value for place, value in numbers_at.items())


@pytest.mark.thorough
@given(st.lists(texts, min_size=1, max_size=4), st.lists(st.lists(texts | numbers | st.none(), min_size=4, max_size=4), max_size=3))
def test_no_text_of_the_figures_begins_like_a_formula(columns: list[str], cells: list[list[Any]]) -> None:
    rows = tuple(tuple(row[: len(columns)]) for row in cells)

    lines = list(csv.reader(io.StringIO(bytes(send_csv_file(Twin(tuple(columns), rows), "x").body).decode(), newline=""), strict=True))

    assert not any(name.startswith(BEGINNINGS) for name in lines[0])
    for row, line in zip(rows, lines[1:], strict=True):
        for value, text in zip(row, line, strict=True):
            if isinstance(value, str):
                assert not text.startswith(BEGINNINGS)
            elif value is not None:
                assert float(text) == value


def test_every_route_that_answers_csv_writes_it_by_one_of_the_two() -> None:
    # A new one has to be added to the properties above. Rows for a model are written by csv_text.py, without a writer of the library.
    app = Path(__file__).parents[3] / "app"
    writers = {
        path.relative_to(app).as_posix()
        for path in app.rglob("*.py")
        if re.search(r"csv\.writer|csv\.DictWriter|to_csv|\b(write_csv_lines|send_csv)\(", path.read_text(encoding="utf-8"))
    }

    assert writers == {
        "charts/routes.py",
        "cli/example/story.py",
        "cli/library/metrics_files.py",
        "cli/reports/report.py",
        "records/csv_streams.py",
        "records/routes.py",
        "records/second_look/flagged_csv.py",
        "records/second_look/routes.py",
        "reports/regulator/embedded_data.py",
        "reports/routes.py",
        "reports/check_report.py",
    }


def read_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True))
