"""Categories by a mapping: schemes, unknown values, weights, and refusals."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from app.base.errors import InvalidInput
from app.cli.reports.report import command
from app.library.selections import report_selections
from app.statistics.selections.category_people import CategoryMapping, parse_mappings

FRAME = pd.DataFrame(
    {
        "race": ["W", "w2", "B", "X", None, "B"],
        "hired": [1, 0, 1, 1, 1, 0],
        "p_white": [0.9, 0.8, 0.1, 0.5, None, 0.0],
        "p_black": [0.1, 0.1, 0.9, 0.5, 0.2, 1.0],
    }
)
EEO = CategoryMapping(attribute="race", scheme="eeo-1", values={"W": "White", "w2": "White", "B": "Black or African American"})
BISG = CategoryMapping(attribute="race (BISG)", scheme="bisg", weights={"p_white": "White", "p_black": "Black"})


def test_values_are_those_of_the_scheme_and_others_are_unknown() -> None:
    found = report_selections(FRAME, preset="ll144", attribute="race", prediction="hired", categories=[EEO]).to_json()
    sheet = found["sheets"]["ll144"]

    counts = [(row["category"], row["applicants"], row["selected"]) for row in sheet["tables"][0]["rows"]]
    assert counts == [("Black or African American", 2, 1), ("White", 2, 1)]
    # X is not in the mapping, and one value is empty.
    assert sheet["unknown"] == 2


def test_weights_make_a_sheet_of_their_own_of_ranges_and_the_caution() -> None:
    found = report_selections(FRAME, preset="ugesp", attribute="race", prediction="hired", categories=[BISG]).to_json()
    sheet = found["sheets"]["probabilistic"]

    assert "No verdict" in sheet["caution"]
    (table,) = sheet["tables"]
    white, black = table["rows"]
    assert (white["people"], black["people"]) == pytest.approx((2.3, 2.6))
    # So few people are one cell: of 5, 3 were selected, who may be 2.3 of White or, but for 0.3, none of them.
    assert (white["rate_low"], white["rate_high"]) == pytest.approx((0.3 / 2.3, 1))
    # One person lacks a weight.
    assert table["unknown"] == 1


def test_the_reference_of_weights_is_of_the_mapping_or_of_the_argument() -> None:
    named = replace(BISG, reference="White")
    of_mapping = report_selections(FRAME, preset="ll144", prediction="hired", categories=[named]).to_json()
    of_argument = report_selections(
        FRAME, preset="ll144", prediction="hired", categories=[BISG], reference={"race (BISG)": ["White"]}
    ).to_json()

    assert of_mapping == of_argument
    (table,) = of_mapping["sheets"]["probabilistic"]["tables"]
    assert (table["reference"], table["rows"][1]["ratio_low"]) == ("White", pytest.approx(0.6 / 2.6))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "attribute"),
        ({"categories": [BISG], "control": ["race"]}, "control"),
        ({"categories": [BISG], "reference": {"race (BISG)": ["White", "Black"]}}, "reference"),
        ({"categories": [BISG], "reference": {"race (BISG)": ["Asian"]}}, "categories.race (BISG).reference"),
        ({"categories": [BISG], "reference": {"race": ["White"]}}, "reference"),
    ],
)
def test_what_does_not_fit_a_file_of_probabilities_is_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        report_selections(FRAME, preset="ll144", prediction="hired", **arguments)
    assert refused.value.problems[0].field == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[]", "categories"),
        ("{", "categories"),
        ('{"race": {"values": {"W": "White"}, "weights": {"p": "Black"}}}', "categories.race"),
        ('{"race": {}}', "categories.race"),
        ('{"race": {"scheme": "eeo-1", "values": {"W": "Weiß"}}}', "categories.race"),
        ('{"race": {"scheme": "eeo-2", "values": {"W": "White"}}}', "categories.race.scheme"),
        ('{"race": {"values": {"W": " "}}}', "categories.race"),
        ('{"race": {"values": {"W": 1}}}', "categories.race.values"),
        ('{"race": {"weights": {"p": "White", "q": "White"}}}', "categories.race"),
        ('{"race": {"value": {}}}', "categories.race"),
        ('{"race": {"weights": {"p": "White"}, "reference": "Black"}}', "categories.race.reference"),
        ('{"race": {"weights": {"p": "White"}, "reference": 1}}', "categories.race.reference"),
        ('{"race": {"values": {"W": "White"}, "reference": "White"}}', "categories.race.reference"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_named(text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_mappings(text)
    assert refused.value.problems[0].field == named


@pytest.mark.parametrize(
    "mapping",
    [
        CategoryMapping(attribute="sex", values={"f": "Female"}),
        CategoryMapping(attribute="race", values={"nobody": "White"}),
        CategoryMapping(attribute="r", weights={"absent": "White"}),
        CategoryMapping(attribute="r", weights={"race": "White"}),
        CategoryMapping(attribute="r", weights={"p_white": "White", "hired": "Black"}),
    ],
)
def test_a_mapping_that_does_not_fit_the_frame_is_refused(mapping: CategoryMapping) -> None:
    with pytest.raises(InvalidInput):
        report_selections(FRAME, preset="ll144", attribute="race", prediction="hired", categories=[mapping])


@pytest.mark.parametrize("form", ["json", "csv", "html"])
def test_the_command_maps_the_categories_of_a_file(tmp_path: Path, form: str) -> None:
    file, mapped = tmp_path / "people.csv", tmp_path / "categories.json"
    FRAME.to_csv(file, index=False)
    bisg = {"scheme": "bisg", "weights": dict(BISG.weights)}
    mapped.write_text(json.dumps({"race": {"scheme": "eeo-1", "values": dict(EEO.values)}, "race (BISG)": bisg}))
    arguments = ["--from-csv", str(file), "--attribute", "race", "--prediction", "hired", "--preset", "ll144", "--format", form]
    ended = CliRunner().invoke(command, [*arguments, "--categories", str(mapped)])

    assert ended.exit_code == 0, ended.output
    for shown in ("Black or African American", "race (BISG)"):
        assert shown in ended.stdout
