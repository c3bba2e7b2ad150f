"""Indirect bias, and the cover, on a world whose truth is known: decisions depend on the district, which reveals race and not sex."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from app.database.engine import Database
from app.deployments.queries import Deployments
from app.domain.check import Span
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from app.reports.document import ReportStamp
from app.reports.regulator import indirect_bias as module
from app.reports.regulator.regulator_report import ReportForm, ReportOrder, read_content
from app.reports.regulator.sheets import PeriodSheet, SheetSelection
from tests.builders.applicants import monitor_of
from tests.connections import connect
from tests.scenes import HOUR, NOON, PlainSealer, scene

COLUMNS = [Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in ("sex", "race", "district", "phone")]
INCOME = Column(name="income", type=FieldType.NUMBER, kind=FieldKind.NUMERIC)
MONITOR = monitor_of(
    MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),
    MonitoredAttribute(feature="race", monitored=("Black",), reference=("White",)),
)
WANTED = SheetSelection(sheets=(PeriodSheet.INDIRECT_BIAS, PeriodSheet.EVIDENCE))


def people(size: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(20)
    rows = []
    for no in range(size):
        race = str(rng.choice(["White", "Black"]))
        district = str(rng.choice(["north", "south"], p=[0.8, 0.2] if race == "White" else [0.2, 0.8]))
        chance = 0.7 if district == "north" else 0.3
        row = {"sex": str(rng.choice(["male", "female"])), "race": race, "district": district, "phone": str(no), "income": rng.normal()}
        rows.append(row | {"prediction": int(rng.random() < chance)})
    return rows


@pytest.mark.nightly
def test_a_column_that_reveals_an_attribute_is_found_and_the_cover_says_who_is_in_the_report(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = scene(database, COLUMNS, MONITOR, endpoint=None, meta=[INCOME], probability=None)
    stage.log(people(1_500), NOON, revision="2026-01")
    stage.check(NOON)
    with connect(database.url) as connection:
        connection.execute("UPDATE deployments SET purpose = 'Decides who gets a loan.', owner = 'Ada Brandt'")
    with database.transaction() as session:
        deployment = Deployments(session, PlainSealer()).get_by_no(stage.deployment.no)

    def make(form: ReportForm, made_at: datetime = datetime(2027, 1, 1, tzinfo=UTC)) -> str:
        span, made = Span(start=NOON, end=NOON + HOUR), ReportStamp(at=made_at, by="somebody")
        return read_content(database, ReportOrder(deployment=deployment, span=span, wanted=WANTED, made=made)).write(form).decode()

    sheet = json.loads(make(ReportForm.JSON))["sheets"]["indirect_bias"]
    of_sex, of_race = ({row["column"]: row for row in table["rows"]} for table in sheet["tables"])
    assert [name for name, row in of_race.items() if row["reveals"]] == ["district"]
    assert of_race["district"]["strength"] == pytest.approx(0.6, abs=0.05)
    assert of_race["district"]["outcome_strength"] == pytest.approx(0.4, abs=0.06)
    assert not any(row["reveals"] for row in of_sex.values())
    assert (of_race["income"]["sent_to_model"], of_race["district"]["sent_to_model"]) == (False, True)
    assert (of_race["phone"]["strength"], "1,500 different values" in of_race["phone"]["reason"]) == (None, True)

    page = re.sub(r"<[^>]+>", " ", make(ReportForm.HTML))
    for shown in ("Decides who gets a loan.", "Ada Brandt", "2026-01 (1,500 records)", "1,500 records logged in the period", "reveals it"):
        assert shown in page
    assert "The period was not over" not in page
    assert "The period was not over" in make(ReportForm.HTML, NOON)

    monkeypatch.setattr(module, "MAX_CELLS", 3_750)
    part = json.loads(make(ReportForm.JSON))["sheets"]["indirect_bias"]
    assert part["one_in"] == 2
    assert 600 < part["records"] < 900
    assert make(ReportForm.JSON) == make(ReportForm.JSON)
