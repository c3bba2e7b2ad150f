"""A figure has one state, one sentence and one interval, whichever door is asked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.domain.check import DataSet
from app.domain.monitor import EvidenceSettings
from app.library.hours_of_groups import follow_frame
from app.statistics.e_values.state_words import VERDICTS, FigureLabel
from app.statistics.intervals.verdicts import GRAVEST, Verdict
from tests.builders.evidence_worlds import SEX, START, Logged, log, update, watched, world
from tests.scenes import HOUR
from tests.service import RunningService

pytestmark = pytest.mark.usefixtures("reports_in_this_process")

PATH = "/v1/deployments/a-model"
METRICS = ("disparate_impact", "statistical_parity_difference", "true_positive_rate_difference", "accuracy_difference")
LOWER = replace(SEX, upper_threshold=None)
UPPER = replace(SEX, threshold=0.01)
SEVERAL = replace(SEX, monitored=("female", "diverse"))
FALL = [1.0] * 20 + [0.3] * 12

Said = tuple[str, int, str, tuple[float | None, ...] | None, str | None]


def with_diverse(records: Sequence[Logged]) -> list[Logged]:
    rng = np.random.default_rng(3)
    return [replace(one, sex="diverse") if one.sex == "female" and rng.random() < 0.4 else one for one in records]


WORLDS: dict[str, tuple[Any, Callable[[], Sequence[Logged]]]] = {
    "a fall": (SEX, lambda: world(FALL, seed=1, records=120)),
    "a fall and a return": (SEX, lambda: world([*FALL, *[1.0] * 30], seed=2, records=200)),
    "fair": (SEX, lambda: world([1.0] * 40, seed=3, records=200)),
    "favoured": (SEX, lambda: world([1.6] * 12, seed=4, records=120, base=0.4)),
    "favoured, a lower limit alone": (LOWER, lambda: world([1.6] * 12, seed=5, records=120, base=0.4)),
    "favoured, in effect an upper limit alone": (UPPER, lambda: world([1.6] * 12, seed=6, records=120, base=0.4)),
    "few records": (SEX, lambda: world([0.5], seed=7, records=12)),
    "no favourable outcome": (SEX, lambda: world([1.0] * 3, seed=8, base=0.0)),
    "several groups": (SEVERAL, lambda: with_diverse(world([0.7] * 10, seed=9, records=60))),
    "no records": (SEX, list),
}


def say(figure: dict[str, Any]) -> Said:
    interval = figure["interval"]
    return figure["state"], figure["row"], figure["sentence"], interval and tuple(interval), figure["interval_kind"]


def key(comparison: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(comparison[name]) for name in ("metric", "data", "attribute", "group"))


def collect(comparisons: Sequence[dict[str, Any]], states: Sequence[dict[str, Any]] | None = None) -> dict[tuple[str, ...], Said]:
    """What is said of each figure, at both of its limits the same."""
    said: dict[tuple[str, ...], Said] = {}
    for comparison, state in zip(comparisons, states or comparisons, strict=True):
        assert said.setdefault(key(comparison), say(state)) == say(state)
    return said


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name == "a fall" else pytest.mark.thorough) for name in WORLDS])
def test_every_door_says_the_same_of_a_figure(service: RunningService, name: str) -> None:
    attribute, draw = WORLDS[name]
    records = draw()
    settings = EvidenceSettings(label_horizon_hours=1)
    stage = watched(service.database, metrics=METRICS, attributes=(attribute,), min_records=10, evidence=settings)
    log(stage, records, first_no=1)
    hours = 1 + max(((one.hour - START) // HOUR for one in records), default=0)
    update(stage, START + hours * HOUR)
    client = service.client
    span = {"since": START.isoformat(), "until": (START + hours * HOUR).isoformat()}

    evidence = client.get(f"{PATH}/evidence", params={"limit": 1000}).raise_for_status().json()["comparisons"]
    said = collect(evidence)
    series = [
        comparison
        for metric in METRICS
        for comparison in client.get(f"{PATH}/measurements", params={"metric": metric}).raise_for_status().json()["evidence"]
    ]
    report = client.get(f"{PATH}/report.json", params=span).raise_for_status().json()["evidence"]
    sheet = (
        client.get(f"{PATH}/regulator-report.json", params=span | {"preset": "eu-ai-act"}).raise_for_status().json()["sheets"]["evidence"]
    )

    assert collect(series).items() <= said.items()
    assert {key(one) for one in evidence if one["id"] is not None} == {key(one) for one in series}
    assert collect(report, [one["statement"] for one in report]) == said
    assert sorted(map(say, sheet["rows"]), key=str) == sorted(said.values(), key=str)
    unfair = {one for one, (state, *_) in said.items() if state in {FigureLabel.UNFAIR, FigureLabel.UNDER_REVIEW}}
    entry = client.get("/v1/overview").raise_for_status().json()["deployments"][0]
    counts = entry["evidence"]
    assert counts["unfair"] == len(unfair)
    assert counts["confirmed_fair"] == sum(state == FigureLabel.CONFIRMED_FAIR for state, *_ in said.values())
    leading = counts["leading"]
    if leading is None:
        assert all(one["id"] is None for one in evidence)
        return
    state, _, _, interval, kind = said[key(leading)]
    assert (leading["state"], leading["interval"] and tuple(leading["interval"]), leading["interval_kind"]) == (state, interval, kind)
    gravest = min(GRAVEST.index(VERDICTS.get(FigureLabel(state), Verdict.UNDECIDED)) for state, *_ in said.values())
    assert unfair or key(leading)[0] == METRICS[0]
    assert (GRAVEST.index(VERDICTS.get(FigureLabel(leading["state"]), Verdict.UNDECIDED)) == gravest) or not unfair


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.thorough) for name in WORLDS if name != "no records"])
def test_the_command_says_of_a_file_what_the_service_says_of_the_same_records(service: RunningService, name: str) -> None:
    attribute, draw = WORLDS[name]
    records = draw()
    attribute = replace(attribute, threshold=0.8, upper_threshold=1.25)
    stage = watched(service.database, metrics=METRICS[:1], attributes=(attribute,))
    log(stage, records, first_no=1)
    update(stage, START + (1 + max((one.hour - START) // HOUR for one in records)) * HOUR)
    frame = pd.DataFrame(
        {"sex": one.sex, "approved": one.approved, "at": (one.hour + timedelta(minutes=one.minute)).isoformat()} for one in records
    )

    followed = follow_frame(
        frame,
        attribute="sex",
        time="at",
        prediction="approved",
        favourable=1,
        monitored=list(attribute.monitored),
        reference="male",
        each_record_another_person="A. Smith",
    ).to_json()
    comparisons = service.client.get(f"{PATH}/evidence").raise_for_status().json()["comparisons"]
    logged = collect([one for one in comparisons if one["data"] == DataSet.AS_LOGGED and one["id"] is not None])

    of_file = collect([one | {"data": DataSet.AS_LOGGED.value} for one in followed["comparisons"]])
    assert {
        figure: (state, row, text.replace("get 1 ", "get the favourable outcome "), *others)
        for figure, (state, row, text, *others) in of_file.items()
    } == logged
