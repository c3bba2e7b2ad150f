"""Categories by a mapping: schemes, unknown values, weights, and refusals."""

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from app.cli.report import command
from app.domain.category_schemes import CategoryMapping, parse_mappings
from app.errors import InvalidInput
from app.frames.selection_report import report_selections

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


def test_weights_make_a_sheet_of_their_own_with_effective_sizes_and_the_caution() -> None:
    found = report_selections(FRAME, preset="ugesp", attribute="race", prediction="hired", categories=[BISG]).to_json()
    sheet = found["sheets"]["probabilistic"]

    assert "biased" in sheet["caution"]
    (table,) = sheet["tables"]
    white, black = table["rows"]
    assert (white["people"], white["selected"]) == pytest.approx((2.3, 1.5))
    assert black["people"] == pytest.approx(2.6)
    assert black["effective_n"] == pytest.approx(2.6**2 / (0.01 + 0.01 + 0.81 + 0.25 + 1))
    # One person lacks a weight, and one has 0.1 in neither category.
    assert table["unknown"] == pytest.approx(1.1)


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
