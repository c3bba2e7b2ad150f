import csv
import io
from xml.etree import ElementTree as ET

import pytest

from app.charts.pictures.twin_tables import Twin
from app.charts.routes import send_csv_file
from tests.integration.reports.reported import Reported
from tests.scenes import HOUR, NOON

RANGE = {"since": NOON.isoformat(), "until": (NOON + 5 * HOUR).isoformat()}
SVG = "{http://www.w3.org/2000/svg}"
TYPES = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8"}


@pytest.mark.nightly
def test_every_chart_comes_in_every_form(reported: Reported) -> None:
    of_sex = {"attribute": "sex"}
    charts = {
        "/charts/series": {**RANGE, "metric": "disparate_impact", **of_sex},
        "/charts/volume": RANGE,
        f"{reported.address}/charts/as_logged": of_sex,
        f"{reported.address}/charts/mitigated": of_sex,
    }
    for path, wanted in charts.items():
        for form, media_type in TYPES.items():
            answer = reported.service.client.get(f"/v1/deployments/a-model{path}.{form}", params=wanted)

            assert answer.status_code == 200, answer.text
            assert answer.headers["content-type"] == media_type
            assert answer.content


def test_the_csv_of_a_series_has_its_points_unrounded(reported: Reported) -> None:
    wanted = {**RANGE, "metric": "disparate_impact", "attribute": "sex"}
    text = reported.text("/charts/series.csv", **wanted)

    measured = reported.service.client.get("/v1/deployments/a-model/measurements", params={**wanted, "data": "as_logged", "scope": "group"})
    found = list(csv.DictReader(io.StringIO(text)))
    assert [row["value"] for row in found] == [repr(figure["value"]) for figure in measured.json()["measurements"]]
    assert [row["carried_forward"] for row in found] == ["false", "false", "false", "true"]


def test_the_chart_of_a_view_has_the_shares_of_the_view(reported: Reported) -> None:
    picture = ET.fromstring(reported.text(f"{reported.address}/charts/openscale.svg"))  # noqa: S314 - our own picture
    view = reported.service.client.get(f"/v1/deployments/a-model{reported.address}/views/openscale").json()

    bars = [title.text or "" for title in picture.iter(f"{SVG}title")]
    (sex,) = [attribute for attribute in view["attributes"] if attribute["attribute"] == "sex"]
    assert [bar.partition(" %")[0] for bar in bars] == [f"{group['group']}: {100 * group['share']:.1f}" for group in sex["groups"]]


def test_parts_of_a_view_and_rolled_up_series_are_charts_too(reported: Reported) -> None:
    view = f"{reported.address}/charts/as_logged.svg"

    assert "Favourable rate by sub-range of age" in reported.text(view, attribute="age", part="sub_ranges")
    assert "counterfactual" in reported.text(f"{reported.address}/charts/mitigated.svg", attribute="sex", part="with_copies")
    rolled = reported.text("/charts/series.csv", metric="disparate_impact", attribute="sex", rollup="day")
    assert [row["rollup"] for row in csv.DictReader(io.StringIO(rolled))] == ["day"]


REFUSED: list[tuple[str, dict[str, str], int]] = [
    ("/charts/series.svg", {"metric": "nothing"}, 422),
    ("/charts/series.svg", {}, 422),
    ("/charts/series.gif", {"metric": "accuracy"}, 422),
    ("/charts/series.svg", {"metric": "accuracy", "since": "2020-01-01T00:00:00Z", "until": "2022-01-01T00:00:00Z"}, 422),
    ("{check}/charts/as_logged.svg", {"attribute": "shoe size"}, 404),
    ("{check}/charts/training.svg", {}, 409),
    ("{check}/charts/anything.svg", {}, 422),
    ("/checks/5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11/charts/as_logged.svg", {}, 404),
]


def test_what_is_not_there_is_said_to_be_so(reported: Reported) -> None:
    for path, wanted, status in REFUSED:
        answer = reported.service.client.get(f"/v1/deployments/a-model{path.format(check=reported.address)}", params=wanted)

        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_text_that_a_spreadsheet_would_take_for_a_formula_gets_an_apostrophe_and_a_number_none() -> None:
    answer = send_csv_file(Twin(("name", "value"), (("=1+1", -0.5), ("@x", None), ("-", True), ("plain", 3))), "figures")

    assert bytes(answer.body).decode().splitlines() == ["name,value", "'=1+1,-0.5", "'@x,", "'-,true", "plain,3"]
