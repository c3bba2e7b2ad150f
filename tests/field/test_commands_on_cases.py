"""Commands on the files of the field, after the README of each folder: what is printed, beyond what is counted."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.field.cases import FIELD, field_case, has_number, marks_of, read_right
from tests.field.commands import Ended, evenhand_at_latest, measure


def _metrics(file: str, *options: str) -> Ended:
    return evenhand_at_latest("metrics", FIELD / file, *options)


def _evidence(file: str | Path, *options: str) -> tuple[dict[str, Any], Ended]:
    """The comparisons as JSON, and what is printed for people."""
    arguments = [FIELD / file, "--time", "t", "--attribute", "sex", "--reference", "m", *options]
    return json.loads(evenhand_at_latest("evidence", *arguments, "--json").stdout), evenhand_at_latest("evidence", *arguments)


def _alarms(found: dict[str, Any]) -> list[str]:
    return [f"{row['metric']} {row['direction']}" for row in found["comparisons"] if row["state"] == "unfair" or row["alarm_at"]]


OK = ("--prediction", "ok", "--favourable", "yes")
NA = ("--attribute", "sex", "--reference", "male", "--prediction", "approved")


@field_case("01-na-is-a-category: listed")
def test_na_can_be_listed(tmp_path: Path) -> None:
    report, _ = measure(tmp_path, FIELD / "01-na-is-a-category/na_lit.csv", *NA, "--monitored", "NA")

    assert [(group["label"], group["records"]) for group in report["groups"]] == [("NA", 195), ("male", 205)]


@field_case("01-na-is-a-category: declared missing")
def test_na_is_missing_where_an_option_says_so() -> None:
    ended = _metrics("01-na-is-a-category/na_lit.csv", *NA, "--missing", "NA")

    assert ended.status == 2
    assert "nothing to compare it with" in ended.text.replace("│ ", "")


@field_case("05-missing-predictions: by group")
def test_missing_predictions_are_counted_by_group() -> None:
    ended = _metrics("05-missing-predictions/misspred.csv", "--attribute", "g", "--reference", "1", "--prediction", "p")

    assert "540 of 600 records counted; left out: no prediction 60 (0 29, 1 31)" in ended.text


@field_case("12-selective-labels: headline")
def test_labels_of_the_approved_alone_are_said() -> None:
    ended = _metrics("12-selective-labels/sel.csv", *NA, "--label", "repaid")

    assert "1,808 of 4,000 records have a label, all of them" in ended.text


@field_case("12-selective-labels: figures of labels")
def test_no_figure_needs_labels_that_do_not_exist(tmp_path: Path) -> None:
    file, label = FIELD / "12-selective-labels/sel.csv", ("--label", "repaid")
    named = ("true_positive_rate_difference", "false_positive_rate_difference", "accuracy", "positive_predictive_value")
    report, _ = measure(tmp_path, file, *NA, *label, *(part for name in named for part in ("--metric", name)))

    values: dict[str, list[float | None]] = {name: [] for name in named}
    for row in report["measurements"]:
        values[row["metric"]].append(row["value"])
    assert {value for name in named[:3] for value in values[name]} == {None}
    assert {0.896082, 0.904996} <= {round(value, 6) for value in values[named[3]] if value is not None}


@field_case("13-blanks: nearest name")
def test_the_nearest_name_of_a_column_is_quoted() -> None:
    ended = _metrics("13-blanks/adult.csv", "--attribute", "sex", "--reference", "Male", "--prediction", "income")

    assert ended.status == 2
    assert "' sex'" in ended.text
    assert "did you mean" in ended.text


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, id=name, marks=marks_of(f"13-blanks: near twins, {name}"))
        for name, options in {
            "all values": ("--reference", "male"),
            "default reference": ("--monitored", "female"),
            "listed": ("--monitored", "female", "--reference", "male"),
        }.items()
    ],
)
@field_case("")
def test_a_value_that_differs_by_a_blank_is_named(options: tuple[str, ...]) -> None:
    ended = _metrics("13-blanks/trail.csv", "--attribute", "sex", "--prediction", "approved", *options)

    assert "'female ' (50 records) differs from 'female' by a blank" in ended.text


@field_case("19-one-text-cell: the record")
def test_a_cell_that_is_no_number_is_named_with_its_record() -> None:
    ranges = ("--monitored", "18-25", "--reference", "26-100")
    ended = _metrics("19-one-text-cell/age_q.csv", "--attribute", "age", *ranges, "--prediction", "income", "--favourable", ">50K")

    assert "'?'" in ended.text
    assert "record 901" in ended.text


FORMS = ("compact", "hour", "minute", "millisecond", "epoch_s", "epoch_ms", "epoch_us", "epoch_ns", "ticks", "filetime")
QUICK_FORMS = {"compact", "hour", "ticks"}


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with one log in all forms of its times."""
    folder = tmp_path_factory.mktemp("times")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runpy.run_path(str(FIELD / "06-compact-times/make.py"))
    return folder


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(
            form, marks=[pytest.mark.thorough if form in QUICK_FORMS else pytest.mark.nightly, *marks_of(f"06-compact-times/t_{form}.csv")]
        )
        for form in FORMS
    ],
)
@field_case("")
def test_times_are_read_alike_in_all_forms(times: Path, form: str) -> None:
    found, _ = _evidence(times / f"t_{form}.csv", *OK)
    right, _ = _evidence(times / "t_iso.csv", *OK)

    assert right["hours"] == 240
    assert found == right


@pytest.mark.nightly
@field_case("06-compact-times/t_day.csv")
def test_days_name_no_hour(times: Path) -> None:
    found, printed = _evidence(times / "t_day.csv", *OK)

    assert _alarms(found) == ["disparate_impact below"]
    assert "10 days" in printed.text
    assert "since 2026-10-25" in printed.text
    assert "2026-10-25 00:00" not in printed.text


@pytest.mark.parametrize("file", ["stat-21-equal-records/copies.csv", "stat-22-recurring-persons/again.csv"])
@field_case("")
def test_with_the_persons_a_fair_model_raises_no_alarm(file: str) -> None:
    found, _ = _evidence(file, *OK, "--person", "person")

    assert _alarms(found) == []


@pytest.mark.parametrize("file", ["stat-21-equal-records/copies.csv", "stat-22-recurring-persons/again.csv"])
@field_case("")
def test_without_the_persons_a_fair_model_raises_no_alarm(file: str) -> None:
    found, _ = _evidence(file, *OK)

    assert _alarms(found) == []


@field_case("")
def test_the_alarm_of_a_declaration_names_who_declared_it() -> None:
    found, printed = _evidence("stat-21-equal-records/copies.csv", *OK, "--each-record-another-person", "A. Smith")

    assert _alarms(found) != []
    assert "if each record is another person, as declared by A. Smith on" in found["guarantee"]
    assert found["guarantee"] in " ".join(printed.text.split())


@pytest.mark.nightly
@field_case("stat-23-labels-still-coming: warning")
def test_labels_that_still_come_raise_no_alarm() -> None:
    found, printed = _evidence("stat-23-labels-still-coming/coming.csv", "--prediction", "predicted", "--label", "actual")

    assert _alarms(found) == []
    assert "104 of 571" in printed.text
    assert "875 of 922" in printed.text


@field_case("stat-24-worst-of-many: worst")
def test_the_worst_of_many_groups_allows_for_the_choice(tmp_path: Path) -> None:
    case = next(case for case in json.loads((FIELD / "cases.json").read_text())["cases"] if "worst" in case)
    options = ("--attribute", "branch", "--reference", "head", "--prediction", "approved", "--metric", "disparate_impact")
    report, ended = measure(tmp_path, FIELD / "stat-24-worst-of-many/window.csv", *options)

    worst = [row for row in report["measurements"] if row["group"] == case["worst"]["group"]]
    for name in ("p_value", "p_value_for_choice", "lower_for_choice", "upper_for_choice"):
        assert has_number(worst, case["worst"][name]), name
    assert "larger than chance explains" not in ended.text


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=marks_of(f"stat-25-opposite-strata/{file}: homogeneity"))
        for file in ("alike.csv", "nearly.csv", "opposite.csv")
    ],
)
@field_case("")
def test_strata_that_differ_are_said_next_to_the_pooled_figure(file: str, tmp_path: Path) -> None:
    right = read_right("stat-25-opposite-strata")["files"][file]
    options = ("--attribute", "sex", "--reference", "man", "--prediction", "approved", "--strata", "loan")
    report, ended = measure(tmp_path, FIELD / "stat-25-opposite-strata" / file, *options, "--metric", "mantel_haenszel_odds_ratio")

    row = next(row for row in report["measurements"] if row["scope"] == "group")
    for name in ("mantel_haenszel", "lower", "upper", "breslow_day", "breslow_day_p", "tarone_p"):
        assert has_number(row, right[name]), name
    assert "There is no gap in these records" not in ended.text


@field_case("stat-25-opposite-strata: disparity of zero")
def test_a_disparity_of_zero_is_equal() -> None:
    options = ("--attribute", "sex", "--reference", "man", "--prediction", "approved", "--strata", "loan")
    metric = "conditional_demographic_disparity_in_predicted_labels"
    ended = _metrics("stat-25-opposite-strata/opposite.csv", *options, "--metric", metric)

    assert "fewer than 0.1 percentage points" not in ended.text


@field_case("stat-26-slow-decline: days")
def test_a_slow_decline_names_no_hour() -> None:
    _, printed = _evidence("stat-26-slow-decline/slow.csv", *OK, "--each-record-another-person", "A. Smith")

    assert "since about 2026-08-28 (between 2026-08-25 and 2026-08-31)" in printed.text


@pytest.fixture(scope="module")
def post_codes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 500 post codes."""
    folder = tmp_path_factory.mktemp("posts")
    program = folder / "make.py"
    program.write_bytes((FIELD / "37-more-than-100-values/make.py").read_bytes())
    runpy.run_path(str(program))
    return folder / "post500.csv"


@field_case("37-more-than-100-values: the command")
def test_one_of_500_post_codes_is_compared_with_everybody_else(post_codes: Path, tmp_path: Path) -> None:
    options = ("--attribute", "post", "--monitored", "p007", "--prediction", "approved", "--metric", "disparate_impact")
    report, _ = measure(tmp_path, post_codes, *options)

    row = next(row for row in report["measurements"] if (row["scope"], row["group"]) == ("group", "p007"))
    assert row["value"] == pytest.approx(0.412725601604, abs=1e-12)
    assert [row["details"][name] for name in ("monitored_favourable", "monitored_n")] == [55, 242]
    assert [row["details"][name] for name in ("reference_favourable", "reference_n")] == [10_880, 19_758]


@field_case("37-more-than-100-values: the report")
def test_a_report_has_all_500_post_codes(post_codes: Path) -> None:
    options = ("--attribute", "post", "--prediction", "approved", "--preset", "ugesp", "--format", "json")
    ended = evenhand_at_latest("report", "--from-csv", post_codes, *options)

    assert len(json.loads(ended.stdout)["sheets"]["adverse_impact"]["tables"][0]["rows"]) == 500
