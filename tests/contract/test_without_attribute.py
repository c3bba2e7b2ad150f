"""Probabilities in place of an attribute: the golden bounds, and no weighted rate in any output of the command."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from app.cli.reports.report import command
from app.reports import document as pdf
from app.statistics.selections.category_people import CategoryMapping
from app.statistics.selections.lending_sheet import bound_categories
from tests.golden import golden

SEX = CategoryMapping(attribute="sex", weights={"p_female": "Female", "p_male": "Male"}, reference="Male")
PROXIES = ("weak", "middle", "strong")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    proxies = pd.read_csv(golden("A6_proxies.csv")) / 10_000
    return proxies.assign(prediction=pd.read_csv(golden("A1_adult") / "predictions.csv")["prediction"])


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(golden("A6_without_attribute.json").read_text())
    return found["proxies"]


def ends(row: dict[str, Any]) -> list[float]:
    return [row[f"{name}_{end}"] for name in ("rate", "ratio") for end in ("low", "high")]


@pytest.mark.parametrize("proxy", PROXIES)
def test_the_bounds_are_the_golden_ones(people: pd.DataFrame, expected: dict[str, Any], proxy: str) -> None:
    weights = np.array([people[proxy], 1 - people[proxy]])
    records = np.ones(len(people), dtype=np.int64)
    female, male = bound_categories(SEX, weights, records, (people["prediction"] == 1).to_numpy())["rows"]
    bounds = expected[proxy]["bounds"]

    assert ends(female) == pytest.approx([*bounds["rate_m"], *bounds["ratio"]], rel=1e-9, abs=1e-12)
    assert [male["rate_low"], male["rate_high"]] == pytest.approx(bounds["rate_r"], rel=1e-9)
    limits = [female["ratio_low_with_noise"], female["ratio_high_with_noise"]]
    assert limits == pytest.approx(expected[proxy]["interval_of_bounds"], rel=1e-9, abs=1e-12)


def report(folder: Path, people: pd.DataFrame, proxy: str, *options: str) -> bytes:
    """Report of a file that has probabilities and decisions alone."""
    file, categories = folder / "people.csv", folder / "categories.json"
    columns = {"prediction": people["prediction"], "p_female": people[proxy], "p_male": (1 - people[proxy]).round(4)}
    pd.DataFrame(columns).to_csv(file, index=False)
    categories.write_text(json.dumps({"sex": {"weights": dict(SEX.weights)}}))
    arguments = ["--from-csv", str(file), "--prediction", "prediction", "--categories", str(categories), *options]
    ended = CliRunner().invoke(command, arguments)
    assert ended.exit_code == 0, ended.output
    return ended.stdout_bytes


@pytest.mark.parametrize("proxy", PROXIES)
def test_the_command_prints_the_bounds_of_a_file_of_probabilities(
    tmp_path: Path, people: pd.DataFrame, expected: dict[str, Any], proxy: str
) -> None:
    found = json.loads(report(tmp_path, people, proxy, "--preset", "lending", "--reference", "Male", "--format", "json"))
    (table,) = found["sheets"]["probabilistic"]["tables"]
    bounds = expected[proxy]["bounds"]

    assert list(found["sheets"]) == ["probabilistic"]
    assert ends(table["rows"][0]) == pytest.approx([*bounds["rate_m"], *bounds["ratio"]], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("preset", ["ll144", "lending"])
@pytest.mark.parametrize("form", ["json", "csv", "html", "pdf"])
def test_no_output_has_a_weighted_rate(
    tmp_path: Path,
    people: pd.DataFrame,
    expected: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    preset: str,
) -> None:
    written: list[str] = []
    # A PDF is compressed; its text is what is handed to the typesetter.
    monkeypatch.setattr(pdf, "_compile_pdf", lambda content, *_: written.append(content) or b"%PDF")
    output = report(tmp_path, people, "middle", "--preset", preset, "--reference", "Male", "--format", form).decode()
    text = "".join(written) or output
    weighted = expected["middle"]["weighted"]

    numbers = {float(number) for number in re.findall(r"(?<![\w.])\d+\.\d+", text)}
    for value in (*weighted.values(), expected["middle"]["thresholded_never_shown"]):
        # As a rate, and as a percentage.
        assert not [
            number for number in numbers if number == pytest.approx(value, abs=6e-5) or number == pytest.approx(100 * value, abs=6e-3)
        ]
    assert any(number == pytest.approx(expected["middle"]["bounds"]["ratio"][1], abs=6e-5) for number in numbers)
    assert not re.search(r"[Ee]ffective.n|below 4/5|Unfair", text)


def test_the_rows_of_csv_are_the_ranges(tmp_path: Path, people: pd.DataFrame) -> None:
    rows = list(csv.DictReader(io.StringIO(report(tmp_path, people, "strong", "--preset", "lending", "--format", "csv").decode())))

    rows = [row for row in rows if row["sheet"] == "probabilistic"]
    assert [row["category"] for row in rows] == ["Female", "Male"]
    assert set(rows[0]) >= {"people", "rate_low", "rate_high", "ratio_low", "ratio_high"}
    # Without a reference there is no ratio.
    assert (rows[0]["rate_low"][:6], rows[0]["ratio_low"]) == ("0.0654", "")
