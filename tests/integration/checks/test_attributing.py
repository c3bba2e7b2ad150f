"""Attribution of a window's gaps through the model's endpoint."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from app.base.errors import InvalidInput
from app.calls.egress_policy import EgressPolicy
from app.checks.subject import Calls, ModelOfCheck
from app.database.engine import Database, arrow_reader
from app.domain.check import Span, Trigger
from app.domain.deployment import Endpoint
from app.evidence.attribution.attribution import AttributedGap, AttributionLimits
from app.evidence.attribution.compared_records import read_window_records
from app.evidence.attribution.model_questions import AttributionPlan, DividedFeatures, HybridScorer, divide_gaps, plan_attribution
from tests.builders.applicants import APPLICANT, monitor_of
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, scene


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


def attribute(stage: Scene, limits: AttributionLimits | None = None) -> tuple[AttributionPlan, tuple[AttributedGap, ...]]:
    """Plans the attribution of the hour and asks the model."""
    deployment = stage.deployment
    with arrow_reader(stage.database) as reader:
        records = read_window_records(reader, deployment, stage.monitor(), Span(start=NOON, end=NOON + HOUR))
        plan = plan_attribution(reader, records, limits or AttributionLimits())
    assert deployment.endpoint is not None
    calls = Calls(EgressPolicy, stage.reported.append, nullcontext)
    model = ModelOfCheck(Trigger.RANGE, deployment, deployment.endpoint, database=stage.database, calls=calls)
    return plan, HybridScorer(stage.database, records, model, 0).attribute(plan)


def test_the_endpoint_says_what_carries_the_gap_and_is_asked_as_many_rows_as_was_said(stage: Scene, server: ModelServer) -> None:
    stage.log(people(600), NOON)

    plan, (women,) = attribute(stage)

    assert plan.players == ((0,), (1,), (2,))
    found = women.hybrids
    assert found is not None
    assert plan.rows == server.counts.rows == plan.questions[0].plan.masks.size + found.compared
    assert plan.count_cost(page_size=1000).requests == server.counts.requests
    assert (women.attribute, women.monitored.label, women.reference.label, found.differing) == ("sex", "female", "male", 0)
    assert sum(one.share.value for one in found.shares) == pytest.approx(found.gap_of_pairs, abs=1e-12)
    assert found.gap_of_pairs + found.sampling == pytest.approx(women.gap, abs=1e-12)
    share = {one.features: one.share.value for one in found.shares}
    assert share["sex",] == pytest.approx(-0.5, abs=0.06)
    assert share["income",] == pytest.approx(0, abs=0.06)
    assert share["age",] == 0
    assert [abs(one.share.value) for one in found.shares] == sorted((abs(one) for one in share.values()), reverse=True)


def test_correlated_features_move_together(stage: Scene) -> None:
    rows = [row | {"age": row["income"] // 1000 + number % 7} for number, row in enumerate(people(300))]
    stage.log(rows, NOON)

    plan, (women,) = attribute(stage, AttributionLimits(pairs=50))

    assert plan.players == ((0,), (1, 2))
    assert plan.questions[0].plan.masks.shape == (50, 2)
    assert women.hybrids is not None
    assert women.hybrids.pairs == 50


def test_records_of_other_revisions_take_no_part(stage: Scene) -> None:
    stage.log(people(100), NOON, revision="earlier")
    stage.log(people(80, seed=2), NOON)

    plan, _ = attribute(stage)

    asked = plan.questions[0]
    assert len(set(asked.monitored.tolist())) + len(set(asked.reference.tolist())) == 80


def test_a_model_that_answers_otherwise_now_is_seen(stage: Scene) -> None:
    stage.log([row | {"prediction": 1 - row["prediction"]} for row in people(100)], NOON)

    _, (women,) = attribute(stage, AttributionLimits(pairs=20))

    assert women.hybrids is not None
    assert women.hybrids.differing == women.hybrids.compared


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

    found = women.hybrids
    assert found is not None
    assert found.pairs + found.pairs_left_out == len(plan.questions[0].pairs)
    assert 0 < found.pairs < 30
    assert sum(share.share.value for share in found.shares) == pytest.approx(found.gap_of_pairs, abs=1e-12)


def test_a_limit_of_rows_is_kept_with_fewer_pairs(stage: Scene, server: ModelServer) -> None:
    stage.log(people(600), NOON)

    plan, _ = attribute(stage, AttributionLimits(max_rows=700))

    assert 690 < plan.rows == server.counts.rows <= 700
    assert len(plan.questions[0].pairs) == 100


def test_a_limit_that_leaves_too_few_pairs_is_refused_before_the_model_is_asked(stage: Scene, server: ModelServer) -> None:
    stage.log(people(600), NOON)

    with pytest.raises(InvalidInput, match="max_rows: must be at least 160 for this window, found 159: 20 pairs of each gap"):
        attribute(stage, AttributionLimits(max_rows=159))
    assert server.counts.rows == 0


def test_a_sample_that_depends_on_the_outcome_gives_the_gap_of_everybody(stage: Scene) -> None:
    """Of the favourable outcomes every fifth is logged, of the others all: the gap of the logged records alone would be 83 points."""
    rng, everybody = np.random.default_rng(5), people(3_000)
    logged = [
        {**row, "sample_rate": 0.2 if row["prediction"] else None} for row in everybody if not row["prediction"] or rng.random() < 0.2
    ]
    stage.log(logged, NOON)

    with arrow_reader(stage.database) as reader:
        features = stage.deployment.schema.features
        records = read_window_records(reader, stage.deployment, stage.monitor(), Span(start=NOON, end=NOON + HOUR), further=features)
    (women,) = divide_gaps(records, DividedFeatures(records))

    assert women.gap == pytest.approx(-0.5, abs=0.08)
    assert women.monitored.records + women.reference.records == int(records.is_drawn.sum()) < len(logged)
