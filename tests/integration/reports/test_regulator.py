"""The report that a regulator keeps: its sheets from the log, its formats from one set of data, and its chain."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psycopg
import pytest
from typer.testing import CliRunner

from app.base.errors import InvalidInput
from app.base.values import Range
from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, roll_up
from app.cli.reports.report import command
from app.database.engine import Database
from app.domain.check import Span
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import MonitoredAttribute
from app.library.selections import report_selections
from app.reports import document as pdf
from app.reports.document import ReportStamp, write_document
from app.reports.regulator.regulator_report import (
    ReportForm,
    ReportOrder,
    find_database_differences,
    find_file_differences,
    read_content,
    read_report_file,
)
from app.reports.regulator.sheets import PeriodSheet, SheetSelection, ToolKind
from app.statistics.selections.category_people import CategoryMapping
from tests.builders.applicants import monitor_of
from tests.builders.page_words import says
from tests.builders.pdf_files import page_count
from tests.connections import connect
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene
from tests.service import running_service

COLUMNS = (
    *(Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in ("sex", "race", "job")),
    Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
)
MONITOR = monitor_of(
    MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),
    MonitoredAttribute(feature="race", monitored=("Black", "Asian"), reference=("White",)),
    MonitoredAttribute(feature="age", monitored=(Range(18, 39),), reference=(Range(40, 70),)),
)
PERIOD = Span(start=NOON, end=NOON + 6 * HOUR)
MADE = ReportStamp(at=datetime(2027, 1, 1, tzinfo=UTC), by="somebody")
ALL = SheetSelection(sheets=tuple(PeriodSheet), controls=("job",))


def people(seed: int, size: int = 300) -> list[dict[str, Any]]:
    """Selection depends on the job alone; women apply for the job with fewer places."""
    rng = np.random.default_rng(seed)
    rows = []
    for no in range(size):
        sex = str(rng.choice(["male", "female", ""], p=[0.48, 0.48, 0.04]))
        race = "Asian" if no % 100 == 0 else str(rng.choice(["White", "Black"]))
        job = str(rng.choice(["few", "many"], p=[0.7, 0.3] if sex == "female" else [0.3, 0.7]))
        score = float(np.clip(rng.normal(0.35 if job == "few" else 0.6, 0.15), 0.01, 0.99))
        row = {"id": f"{seed}-{no}", "sex": sex, "race": race, "job": job, "age": int(rng.integers(18, 70))}
        rows.append(row | {"prediction": int(score > 0.5), "probability": [1 - score, score]})
    return rows


@pytest.fixture
def stage(database: Database, memory: SceneMemory) -> Iterator[Scene]:
    def make() -> Scene:
        made = scene(database, COLUMNS, MONITOR, endpoint=None)
        for hour in range(3):
            made.log(people(hour), NOON + hour * HOUR, revision="v2" if hour == 2 else "v1")
            made.check(NOON + hour * HOUR)
        return made

    return memory.recall(database, make)


def make(stage: Scene, form: ReportForm = ReportForm.JSON, wanted: SheetSelection = ALL, made: ReportStamp = MADE) -> bytes:
    order = ReportOrder(deployment=stage.deployment, span=PERIOD, wanted=wanted, made=made)
    return read_content(stage.database, order).write(form)


def test_the_adverse_impact_sheet_counts_the_people_of_the_log(stage: Scene) -> None:
    found = json.loads(make(stage))
    rows = [row for seed in range(3) for row in people(seed)]

    (sex, race, age, *together) = found["sheets"]["adverse_impact"]["tables"]
    assert [one["attribute"] for one in together] == ["sex × race", "sex × age", "race × age"]
    counted = {row["category"]: (row["applicants"], row["selected"]) for row in sex["rows"]}
    assert counted == {
        name: (sum(row["sex"] == name for row in rows), sum(row["prediction"] for row in rows if row["sex"] == name))
        for name in ("female", "male")
    }
    assert sex["unknown"] == sum(not row["sex"] for row in rows)
    assert [row["category"] for row in race["rows"]] == ["Asian", "Black", "White"]
    assert "too_few" in race["rows"][0]["flags"]
    assert race["compared_with"] in {"Black", "White"}
    assert sum(row["applicants"] for row in age["rows"]) == 900
    assert found["population"]["logged"] == found["population"]["in_report"] == 900
    assert found["revisions"] == [{"model_revision": "v1", "records": 600}, {"model_revision": "v2", "records": 300}]


def test_a_gap_that_the_job_explains_is_gone_given_the_job(stage: Scene) -> None:
    found = json.loads(make(stage))["sheets"]
    (women,) = found["controls"]["tables"][0]["rows"]
    (lent,) = found["lending"]["tables"][0]["rows"]

    assert women["crude"]["upper"] < 1
    assert women["mantel_haenszel"]["lower"] < 1 < women["mantel_haenszel"]["upper"]
    assert women["logit"]["odds"]["value"] == pytest.approx(women["mantel_haenszel"]["value"], rel=0.05)
    assert lent["air"] < 0.8
    assert lent["score"]["gap"]["smd"] < -0.3
    assert lent["score"]["residual"]["lower"] < 0 < lent["score"]["residual"]["upper"]
    assert len(lent["score"]["quantiles"]) == 9


@pytest.mark.thorough
def test_gaps_in_scores_are_those_of_the_sheet_in_a_check_and_rolled_up(stage: Scene) -> None:
    keys = (
        "standardized_mean_difference",
        "adverse_impact_ratio_above_q20",
        "adverse_impact_ratio_above_q50",
        "adverse_impact_ratio_above_q80",
    )
    stage.watch(replace(MONITOR, metrics=keys))
    whole = stage.check(NOON, NOON + 3 * HOUR)
    for hour in range(3):
        stage.check(NOON + hour * HOUR)
    (lent,) = json.loads(make(stage, wanted=SheetSelection(sheets=(PeriodSheet.LENDING,), attributes=("sex",))))["sheets"]["lending"][
        "tables"
    ]
    (women,) = [row["score"] for row in lent["rows"] if row["category"] == "female"]
    by_quantile = {round(quantile["quantile"], 1): quantile["ratio"] for quantile in women["quantiles"]}
    expected = [women["gap"]["smd"], by_quantile[0.2], by_quantile[0.5], by_quantile[0.8]]

    with stage.database.transaction() as session:
        tables = read_summed_tables(session, stage.deployment.no, SeriesFilter(), outcomes=stage.monitor().outcomes, limit=1000)
    found = [figure.measurement for figure in roll_up(tables, Period.DAY, stage.monitor(), MitigationSettings())]
    rolled = {figure.metric: figure.value for figure in found if figure.group == "female" and figure.comparison.features == ("sex",)}
    assert [whole.value(key, "as_logged", "sex", "female") for key in keys] == pytest.approx(expected, rel=1e-9)
    assert [rolled[key] for key in keys] == pytest.approx(expected, rel=1e-9)


def test_a_file_of_the_same_records_has_the_same_sheets(stage: Scene) -> None:
    found = json.loads(make(stage, wanted=SheetSelection(sheets=tuple(PeriodSheet), attributes=("sex", "race"), controls=("job",))))[
        "sheets"
    ]
    frame = pd.DataFrame([row | {"score": row["probability"][1]} for seed in range(3) for row in people(seed)])
    of_file: dict[str, Any] = {}
    for preset, score in (("ll144", None), ("ugesp", None), ("lending", "score")):
        reported = report_selections(
            frame,
            preset=preset,
            attribute=["sex", "race"],
            prediction="prediction",
            score=score,
            reference={"sex": ["male"], "race": ["White"]},
            control=["job"],
        )
        of_file |= reported.to_json()["sheets"]
    for name in ("ll144", "adverse_impact", "lending", "controls"):
        tables = [(one["attribute"], one["rows"]) for one in found[name]["tables"]]
        assert [one for one, _ in tables] == [one["attribute"] for one in of_file[name]["tables"]]
        for (_, live), table in zip(tables, of_file[name]["tables"], strict=True):
            assert flat(live) == flat(table["rows"])
    assert found["ll144"]["unknown"] == of_file["ll144"]["unknown"]


def flat(found: object, path: tuple[object, ...] = ()) -> dict[tuple[object, ...], object]:
    """The leaves of JSON by their path, numbers within 1e-9."""
    if isinstance(found, dict | list):
        parts = found.items() if isinstance(found, dict) else enumerate(found)
        return {key: value for name, part in parts for key, value in flat(part, (*path, name)).items()}
    return {path: pytest.approx(found, rel=1e-9, abs=1e-12) if isinstance(found, float) else found}


def test_rates_and_ratios_are_those_of_a_check_of_the_same_records(stage: Scene) -> None:
    whole = stage.check(NOON, NOON + 3 * HOUR)
    sheets = json.loads(make(stage))["sheets"]
    for impact, lent in zip(sheets["adverse_impact"]["tables"], sheets["lending"]["tables"], strict=False):
        attribute, ratios = lent["attribute"], {row["category"]: row["ratio_to_reference"] for row in impact["rows"]}
        for row in lent["rows"]:
            group = row["category"]
            checked = whole.value("disparate_impact", "as_logged", attribute, group)
            assert row["air"] == ratios[group] == pytest.approx(checked, rel=1e-12)


def test_the_sheet_of_local_law_144_has_sex_race_and_both_whatever_else_is_watched(stage: Scene) -> None:
    only = SheetSelection(sheets=(PeriodSheet.LL144,), preset="ll144")
    found = json.loads(make(stage, wanted=only))
    sheet = found["sheets"]["ll144"]
    assert [table["attribute"] for table in sheet["tables"]] == ["sex", "race", "sex × race"]
    assert sheet["not_asked_for"] == ["age"]
    assert sheet["unknown"] == sum(not row["sex"] for seed in range(3) for row in people(seed))
    assert ["categories (Hispanic" in gap["what"] for gap in found["missing"]] == [True]
    assert found["missing"][0]["what"].endswith("): the monitor calls them Black")
    assert any("auditor" in one for one in found["elsewhere"])
    chosen = json.loads(make(stage, wanted=replace(only, attributes=("age", "sex", "race"))))["sheets"]["ll144"]
    assert [table["attribute"] for table in chosen["tables"]] == ["sex", "race", "age", "sex × race × age"]
    html = make(stage, ReportForm.HTML, wanted=only).decode()
    for shown in ("at most one year old", "not asked for by this rule: age", "What is missing for the rule"):
        assert shown in html


@pytest.mark.thorough
def test_records_of_several_shares_are_in_no_table(database: Database) -> None:
    made = scene(database, COLUMNS, MONITOR, endpoint=None)
    made.log([row | {"sample_rate": 0.5} for row in people(0)], NOON)
    equal = json.loads(make(made))
    assert equal["population"]["sampling"] == {"lowest_rate": 0.5, "highest_rate": 0.5, "is_unequal": False}
    assert equal["population"]["without_label"] == 300
    assert equal["sheets"]["lending"]["tables"]
    assert "counts for about 2 decisions" in make(made, ReportForm.HTML).decode()
    made.log(people(1), NOON + HOUR)
    unequal = json.loads(make(made))
    for name in ("adverse_impact", "ll144", "lending", "probabilistic", "controls"):
        assert unequal["sheets"][name]["tables"] == []
        assert "different shares of the traffic" in unequal["sheets"][name]["reason"]
    for form in ReportForm:
        assert make(made, form)


def test_a_period_without_records_compares_nobody(stage: Scene) -> None:
    empty = Span(start=NOON - 6 * HOUR, end=NOON)
    order = ReportOrder(deployment=stage.deployment, span=empty, wanted=ALL, made=MADE)
    html = read_content(stage.database, order).write(ReportForm.HTML).decode()

    assert "Records logged in the period: 0." in html
    assert says(html, "sex: no two categories", "people to compare")
    assert "over those of" not in html


def test_a_scoring_tool_selects_above_the_median_of_everybody(stage: Scene) -> None:
    sheet = json.loads(make(stage, wanted=SheetSelection(sheets=(PeriodSheet.LL144,), tool=ToolKind.SCORING)))["sheets"]["ll144"]
    rows = [row for seed in range(3) for row in people(seed)]
    median = float(np.median([row["probability"][1] for row in rows]))

    assert sheet["median_score"] == pytest.approx(median)
    women = sheet["tables"][0]["rows"][0]
    assert women["selected"] == sum(row["probability"][1] > median for row in rows if row["sex"] == "female")
    (asian, *_) = sheet["tables"][1]["rows"]
    assert asian["excluded"]
    assert asian["impact_ratio"] is None


@pytest.mark.nightly
def test_two_reports_differ_by_the_time_of_making_alone(stage: Scene) -> None:
    later = ReportStamp(at=datetime(2027, 2, 1, tzinfo=UTC), by="somebody")
    first, second = (json.loads(make(stage, made=one)) for one in (MADE, later))

    assert first.pop("made") != second.pop("made")
    assert first == second
    for form in ReportForm:
        assert make(stage, form) == make(stage, form)
    for form in (ReportForm.HTML, ReportForm.PDF):
        found = dict(read_report_file(make(stage, form, made=later)).content)
        del found["made"]
        assert found == first
    # The figures of a CSV have no time of making at all.
    assert make(stage, ReportForm.CSV, made=MADE) == make(stage, ReportForm.CSV, made=later)


@pytest.mark.thorough
def test_all_formats_have_the_figures_of_the_json(stage: Scene) -> None:
    found = json.loads(make(stage))
    women = found["sheets"]["adverse_impact"]["tables"][0]["rows"][0]
    rows = list(csv.DictReader(io.StringIO(make(stage, ReportForm.CSV).decode())))
    html = make(stage, ReportForm.HTML).decode()

    (value,) = [
        row["value"]
        for row in rows
        if (row["sheet"], row["attribute"], row["category"], row["figure"]) == ("adverse_impact", "sex", "female", "odds_ratio")
    ]
    assert float(value) == women["odds_ratio"]
    assert f"{women['odds_ratio']:.4f}" in html
    assert found["chain_head"] in html
    assert "Not legal advice" in html
    assert 2 < page_count(make(stage, ReportForm.PDF)) <= 2 + 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE measurements SET value = value + 1e-9 WHERE no = (SELECT max(no) FROM measurements WHERE value IS NOT NULL)", "changed"),
        ("DELETE FROM checks WHERE no = (SELECT max(no) FROM checks)", "deleted"),
        ("UPDATE monitors SET config = jsonb_set(config, '{min_records}', '11')", "changed"),
        ("UPDATE deployments SET outputs = jsonb_set(outputs, '{prediction}', '\"other\"')", "changed"),
    ],
)
def test_the_chain_detects_a_change_of_the_database(stage: Scene, change: str, message: str) -> None:
    report = read_report_file(make(stage))
    with stage.database.transaction() as session:
        assert list(find_file_differences(report)) == list(find_database_differences(session, stage.deployment, report)) == []
    with connect(stage.database.url) as connection:
        assert connection.execute(change).rowcount == 1
    with stage.database.transaction() as session:
        (difference,) = find_database_differences(session, stage.deployment, report)
    assert message in difference.message
    assert difference.part.startswith("configuration" if "jsonb_set" in change else "check")


def test_a_changed_file_is_detected(stage: Scene) -> None:
    content = json.loads(make(stage))
    content["sheets"]["adverse_impact"]["tables"][0]["rows"][0]["selected"] += 1
    assert [finding.part for finding in find_file_differences(read_report_file(json.dumps(content).encode()))] == ["file"]

    shorter = json.loads(make(stage))
    del shorter["chain"][1]
    assert len(list(find_file_differences(read_report_file(json.dumps(shorter).encode())))) == 2
    with pytest.raises(InvalidInput, match="report"):
        read_report_file(b"%PDF")


@pytest.mark.parametrize("form", [ReportForm.HTML, pytest.param(ReportForm.PDF, marks=pytest.mark.thorough), ReportForm.CSV])
def test_every_form_is_verified_by_itself_and_next_to_the_database(stage: Scene, form: ReportForm) -> None:
    content, of_json = make(stage, form), read_report_file(make(stage))
    report = read_report_file(content)

    assert list(find_file_differences(report)) == []
    assert (report.deployment_id, report.span, report.chain) == (of_json.deployment_id, of_json.span, of_json.chain)
    assert report.content["seal"] == of_json.content["seal"]
    shown = {ReportForm.HTML: b"Adverse impact", ReportForm.PDF: b"/Type", ReportForm.CSV: b"adverse_impact"}[form]
    changed = read_report_file(content.replace(shown, shown.swapcase(), 1))
    assert [finding.part for finding in find_file_differences(changed)] == ["file"]
    with pytest.raises(InvalidInput, match="hash"):
        read_report_file(content[:-1])
    with psycopg.connect(stage.database.url) as connection:
        connection.execute("DELETE FROM checks WHERE no = (SELECT max(no) FROM checks)")
    with stage.database.transaction() as session:
        (difference,) = find_database_differences(session, stage.deployment, report)
    assert "deleted" in difference.message


@pytest.mark.parametrize("wanted", [{"controls": ("salary",)}, {"controls": ("sex",)}, {"attributes": ("job",)}])
def test_columns_that_cannot_be_used_are_named(stage: Scene, wanted: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wanted.values()))[0]):
        make(stage, wanted=SheetSelection(sheets=tuple(PeriodSheet), **wanted))


def test_the_command_makes_a_report_and_verifies_it(stage: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", stage.database.url)
    monkeypatch.setenv("EVENHAND_DATA_DIR", str(tmp_path))
    file, run = tmp_path / "year.json", CliRunner()
    period = ["--from", PERIOD.start.isoformat(), "--to", PERIOD.end.isoformat()]
    arguments = ["--deployment", "a-model", *period, "--sheets", "all", "--control", "job", "--format", "json", "--output", str(file)]
    ended = run.invoke(command, arguments)
    assert ended.exit_code == 0, ended.output
    assert list(json.loads(file.read_text())["sheets"]) == list(PeriodSheet)

    assert says(run.invoke(command, ["verify", str(file)]).output, "Unchanged", "the file and the database", "3 checks")
    with connect(stage.database.url) as connection:
        connection.execute("DELETE FROM checks WHERE no = (SELECT max(no) FROM checks)")
    changed = run.invoke(command, ["verify", str(file)])
    assert changed.exit_code == 1
    assert "Changed: 1 part differs." in changed.output
    assert "was deleted since" in changed.output
    assert run.invoke(command, ["verify", str(file), "--offline"]).exit_code == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--deployment", "a-model"], "--from"),
        (["--deployment", "a-model", "--from", "x", "--to", "2026-01-01"], "--from"),
        (["--deployment", "a-model", "--from", "2026-01-01", "--to", "2026-02-01", "--sheets", "x"], "--sheets"),
        (["--deployment", "a-model", "--from", "2026-01-01", "--to", "2026-02-01", "--preset", "x"], "--preset"),
        ([], "--from-csv"),
    ],
)
def test_a_wrong_option_of_the_command_is_named(options: list[str], named: str) -> None:
    ended = CliRunner().invoke(command, options)
    assert ended.exit_code == 2
    assert named in ended.output


def test_the_groups_of_the_log_are_mapped_to_a_scheme_and_weighed(stage: Scene) -> None:
    values = {"Black": "Black or African American", "White": "White"}
    mapped = CategoryMapping(attribute="race", scheme="eeo-1", values=values)
    found = json.loads(make(stage, wanted=SheetSelection(sheets=(PeriodSheet.ADVERSE_IMPACT,), categories=(mapped,))))
    race = found["sheets"]["adverse_impact"]["tables"][1]
    rows = [row for seed in range(3) for row in people(seed)]

    assert [row["category"] for row in race["rows"]] == ["Black or African American", "White"]
    assert race["unknown"] == sum(row["race"] == "Asian" for row in rows)
    assert race["reference"] == "White"
    assert found["categories"][0]["scheme"] == "eeo-1"
    for weights in ({"age": "White"}, {"salary": "White"}, {"job": "White"}):
        with pytest.raises(InvalidInput, match=r"categories\.p"):
            make(stage, wanted=SheetSelection(sheets=tuple(PeriodSheet), categories=(CategoryMapping(attribute="p", weights=weights),)))


@pytest.mark.usefixtures("reports_in_this_process")
def test_probabilities_in_the_log_give_ranges_in_every_answer(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (*COLUMNS[:3], *(Column(name=name, type=FieldType.NUMBER, kind=FieldKind.NUMERIC) for name in ("age", "p_black", "p_white")))
    made = scene(database, columns, MONITOR, endpoint=None)
    rows = [person | {"p_black": 0.25 * (no % 4), "p_white": 0.5} for no, person in enumerate(people(0)) if 0.25 * (no % 4) <= 0.5]
    made.log(rows, NOON)
    mapping = {"race (BISG)": {"scheme": "bisg", "weights": {"p_black": "Black", "p_white": "White"}, "reference": "White"}}
    query = {"since": NOON.isoformat(), "until": (NOON + HOUR).isoformat(), "sheet": "probabilistic", "categories": json.dumps(mapping)}
    typeset: list[str] = []
    # A PDF is compressed; its text is what is handed to the typesetter.
    monkeypatch.setattr(
        pdf, "write_document", lambda *content: typeset.append(json.dumps(write_document(*content))) or write_document(*content)
    )
    with running_service(database, tmp_path) as service:
        answers = {
            form: service.client.get(f"/v1/deployments/a-model/regulator-report.{form}", params=query).raise_for_status()
            for form in ("json", "csv", "html", "pdf")
        }
    texts = [*(answers[form].text for form in ("json", "csv", "html")), *typeset]

    (table,) = answers["json"].json()["sheets"]["probabilistic"]["tables"]
    black, white = table["rows"]
    assert black["people"] == pytest.approx(sum(row["p_black"] for row in rows))
    assert black["rate_low"] < black["rate_high"]
    assert black["ratio_high"] == pytest.approx(black["rate_high"] / white["rate_low"])
    weighted = sum(row["p_black"] * row["prediction"] for row in rows) / black["people"]
    assert len(texts) == 4
    for text in texts:
        numbers = {float(number) for number in re.findall(r"(?<![\w.])\d+\.\d+", text)}
        assert not [number for number in numbers if number == pytest.approx(weighted, abs=6e-5)]
        assert [number for number in numbers if number == pytest.approx(black["ratio_high"], abs=6e-5)]
