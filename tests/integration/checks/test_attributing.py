"""Attribution of a window's gaps through the model's endpoint."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from app.checks.asking import Calls, ModelOfCheck
from app.checks.attributing import AttributedGap, AttributionPlan, HybridScorer, plan_attribution
from app.checks.evidence import read_evidence
from app.checks.subject import read_subject
from app.domain.checks import Span
from app.domain.deployments import Endpoint
from app.outbound.egress import EgressPolicy
from app.store.database.arrow import arrow_reader
from app.store.database.engine import Database
from tests.builders.applicants import APPLICANT, monitor_of
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene


def people(size: int, seed: int = 1) -> list[dict[str, Any]]:
    """Men and women as the rule decides them; half of all are rich, and the age plays no part."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = [
        {
            "sex": str(rng.choice(["male", "female"], p=[0.7, 0.3])),
            "income": int(rng.choice([20_000, 90_000])),
            "age": int(rng.integers(20, 60)),
        }
        for _ in range(size)
    ]
    decided: Sequence[tuple[Any, Any]] = RuleScorer().predict(["sex", "income"], [(row["sex"], row["income"]) for row in rows])
    return [{**row, "prediction": one, "probability": likely} for row, (one, likely) in zip(rows, decided, strict=True)]


def attribute(stage: Scene, *, pairs: int | None = None) -> tuple[AttributionPlan, tuple[AttributedGap, ...]]:
    """Plans the attribution of the hour and asks the model."""
    run = stage.queue(Span(start=NOON, end=NOON + HOUR))
    subject = read_subject(run, stage.database, PlainSealer())
    with arrow_reader(stage.database) as reader:
        evidence = read_evidence(reader, subject)
        plan = plan_attribution(reader, subject.deployment, evidence, pairs=pairs)
    assert subject.deployment.endpoint is not None
    calls = Calls(EgressPolicy, stage.reported.append, nullcontext)
    model = ModelOfCheck(run, subject.deployment, subject.deployment.endpoint, database=stage.database, calls=calls)
    scorer = HybridScorer(stage.database, subject.deployment, model, rule=subject.monitor.outcomes)
    return plan, scorer.attribute(plan, evidence)


def test_the_endpoint_says_what_carries_the_gap_and_is_asked_as_many_rows_as_was_said(stage: Scene, server: ModelServer) -> None:
    stage.log(people(600), NOON)

    plan, (women,) = attribute(stage)

    assert plan.players == ((0,), (1,), (2,))
    assert plan.rows == server.counts.rows == plan.questions[0].plan.masks.size + women.compared
    assert (women.attribute, women.group, women.differing) == ("sex", "female", 0)
    assert women.carried is not None
    assert women.carried.shares.sum() == pytest.approx(women.carried.gap_of_pairs, abs=1e-12)
    assert women.carried.gap_of_pairs + women.carried.sampling == pytest.approx(plan.questions[0].gap, abs=1e-12)
    sex, income, age = women.carried.shares
    assert sex == pytest.approx(-0.5, abs=0.06)
    assert income == pytest.approx(0, abs=0.06)
    assert age == 0


def test_correlated_features_move_together(stage: Scene) -> None:
    rows = [row | {"age": row["income"] // 1000 + number % 7} for number, row in enumerate(people(300))]
    stage.log(rows, NOON)

    plan, (women,) = attribute(stage, pairs=50)

    assert plan.players == ((0,), (1, 2))
    assert plan.questions[0].plan.masks.shape == (50, 2)
    assert women.carried is not None
    assert women.carried.pairs == 50


def test_records_of_other_revisions_take_no_part(stage: Scene) -> None:
    stage.log(people(100), NOON, revision="earlier")
    stage.log(people(80, seed=2), NOON)

    plan, _ = attribute(stage)

    asked = plan.questions[0]
    assert len(set(asked.monitored.tolist())) + len(set(asked.reference.tolist())) == 80


def test_a_model_that_answers_otherwise_now_is_seen(stage: Scene) -> None:
    stage.log([row | {"prediction": 1 - row["prediction"]} for row in people(100)], NOON)

    _, (women,) = attribute(stage, pairs=20)

    assert women.differing == women.compared


def test_a_window_of_one_group_asks_nothing(stage: Scene, server: ModelServer) -> None:
    stage.log([row for row in people(100) if row["sex"] == "male"], NOON)

    plan, found = attribute(stage)

    assert (plan.rows, found, server.counts.rows) == (0, (), 0)


class OtherWords(RuleScorer):
    """The rule, answering 7 to everyone of 30 or more."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        age = list(columns).index("age")
        return [(7 if row[age] >= 30 else one, likely) for row, (one, likely) in zip(rows, super().predict(columns, rows), strict=True)]


def test_pairs_with_an_answer_that_is_no_outcome_are_left_out(database: Database) -> None:
    with serve(OtherWords()) as server:
        stage = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url))
        stage.log(people(200), NOON)

        plan, (women,) = attribute(stage)

    assert women.carried is not None
    assert women.carried.pairs + women.carried.left_out == len(plan.questions[0].pairs)
    assert 0 < women.carried.pairs < 30
    assert women.carried.shares.sum() == pytest.approx(women.carried.gap_of_pairs, abs=1e-12)
