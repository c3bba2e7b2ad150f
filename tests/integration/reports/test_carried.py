"""The sentence of a report on what carries the gap: of the worst group that was attributed, and nothing where nothing was."""

import json
import re

import pytest

from app.domain.check import Span
from app.evidence.attribution.attribution import AttributionLimits
from app.evidence.attribution.queries import queue_manual
from tests.builders.attributions import run_all
from tests.builders.pdf_files import page_count
from tests.integration.reports.reported import Reported
from tests.scenes import HOUR, NOON

pytestmark = pytest.mark.usefixtures("reports_in_this_process")

PERIOD = {"since": NOON.isoformat(), "until": (NOON + 5 * HOUR).isoformat()}


@pytest.mark.nightly
def test_what_carries_the_gap_is_on_the_second_page_once_it_was_attributed(reported: Reported) -> None:
    before = reported.text("/report.html", **PERIOD)
    with reported.stage.database.transaction() as session:
        window = Span(start=NOON + 2 * HOUR, end=NOON + 3 * HOUR)
        queue_manual(session, reported.stage.deployment.no, window, check_id=None, limits=AttributionLimits(), requested_by="a person")
    run_all(reported.stage.database)
    of_period, of_check = reported.text("/report.html", **PERIOD), reported.text(f"{reported.address}/report.html")
    data = json.loads(reported.text(f"{reported.address}/report.json"))
    earlier = reported.text(f"/checks/{reported.runs[0].id}/report.html")
    pdf = reported.service.client.get(f"/v1/deployments/a-model{reported.address}/report.pdf").content

    assert "Drivers of the gap" not in before
    # The worst group of the page is one of sex and age together, and each attribute was attributed by itself.
    said = re.search(r"<p>Drivers of the gap of female \(records of (.*?) to .*? UTC, attributed on .*? UTC\): (.*?)</p>", of_period)
    assert said is not None
    assert said[1] == f"{NOON + 2 * HOUR:%Y-%m-%d %H:%M:%S} UTC"
    assert re.match(r"The gap of \d+ sampled pairs is −\d+\.\d points, by feature: ", said[2])
    assert said[2].endswith("This is arithmetic on the model's answers and says nothing about causes.".replace("'", "&#39;"))
    assert said[0] in of_check
    assert data["attribution"]["result"]["gaps"]
    # A window that begins after the end of a report says nothing about it.
    assert "Drivers of the gap" not in earlier
    assert page_count(pdf) == 2
