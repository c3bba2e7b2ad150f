"""Asks the model about hybrids of a window's records.

No transaction is open meanwhile; features are read in short ones.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec
import numpy as np

from ...base.values import Scalar
from ...calls.scoring.scoring_client import Refusal
from ...checks.ask_model import ModelOfCheck
from ...database.engine import Database, arrow_reader
from ...domain.check import Progress
from ...domain.monitor import Outcome
from ...sources.arrays.column_cells import OutcomeClassifier
from ...sources.stored.window_queries import read_record_features
from ...statistics.attribution.hybrid_values import Answered
from ...statistics.attribution.sampled_pairs import carry_gap
from ...statistics.group_labels import FloatArray
from .attribution import AttributedGap, HybridShares, PartOfGap, ResampledUnits, ShareOfPlayer
from .compared_records import WindowRecords
from .model_questions import AttributionPlan, GapQuestions
from .queries import keep_answers, read_answers

Row: TypeAlias = "list[Scalar | None]"


@dataclass
class HybridScorer:
    """Asks about the hybrids of a plan; `asked` counts rows, each once.

    Answers are kept under the attribution's number, part by part, for a worker that takes it over.
    """

    database: Database
    records: WindowRecords
    model: ModelOfCheck
    attribution_no: int
    part: int = 0
    asked: int = 0

    def attribute(self, plan: AttributionPlan, *, seed: int = 0) -> tuple[AttributedGap, ...]:
        """Shares in each gap. A pair with a refused or unclassified hybrid is left out.

        Raises:
            ScoringFailed: the model gave no usable answer to some page, or took no row at all.
        """
        rng = np.random.default_rng([seed, 1])
        records = self.records
        names = [column.name for column in records.deployment.schema.features]
        logged = np.where(records.is_classified, records.is_favourable, np.nan).astype(np.float64)
        gaps = []
        for questions in plan.questions:
            answers = self._ask(questions, plan)
            as_logged, hybrids = np.split(answers, [len(questions.own)])
            # The pairs' own records keep their logged outcomes, so that the shares sum to the logged gap.
            answered = Answered(
                logged[questions.reference],
                logged[questions.monitored],
                hybrids.reshape(questions.plan.masks.shape),
            )
            gap = records.measure_gap(questions.gap)
            carried = carry_gap(questions.pairs, questions.plan, answered, gap_of_window=gap.gap, rng=rng)
            if carried is None:
                gaps.append(gap)
                continue
            shares = [
                ShareOfPlayer(
                    features=tuple(names[position] for position in player), share=as_part(share, low, high)
                )
                for player, share, low, high in zip(
                    plan.players, carried.shares, carried.ends.low, carried.ends.high, strict=True
                )
            ]
            hybrid_shares = HybridShares(
                gap_of_pairs=carried.gap_of_pairs,
                sum_of_shares=float(carried.shares.sum()),
                sampling=carried.sampling,
                pairs=carried.pairs,
                pairs_left_out=carried.left_out,
                resampled=ResampledUnits.RECORDS if questions.pairs.are_reused else ResampledUnits.PAIRS,
                compared=len(questions.own),
                differing=int((as_logged != logged[questions.own]).sum()),
                shares=tuple(sorted(shares, key=lambda feature: -abs(feature.share.value))),
            )
            gaps.append(replace(gap, hybrids=hybrid_shares))
        return tuple(gaps)

    def _ask(self, questions: GapQuestions, plan: AttributionPlan) -> FloatArray:
        """Outcome of each row, those of records as they are first; NaN where there is none."""
        answers = bytearray()
        deployment = self.records.deployment
        monitor = self.records.read.monitor
        classify = OutcomeClassifier(monitor.outcomes)
        url = deployment.endpoint and deployment.endpoint.url
        for rows in self._build_rows(questions, plan):
            question = hashlib.sha256(
                msgspec.json.encode([deployment.model_revision, url, monitor.version, rows])
            ).digest()
            with self.database.transaction() as session:
                kept_outcomes = read_answers(session, self.attribution_no, self.part, question=question)
            if kept_outcomes is None:
                progress = Progress(step="asking the model about hybrids", done=self.asked, total=plan.rows)
                scored = self.model.score(rows, progress)
                kept_outcomes = bytes(
                    Outcome.UNCLASSIFIED if isinstance(answer, Refusal) else classify(answer.outcome_value)
                    for answer in scored
                )
                with self.database.transaction() as session:
                    keep_answers(
                        session, self.attribution_no, self.part, question=question, outcomes=kept_outcomes
                    )
            answers += kept_outcomes
            self.asked += len(rows)
            self.part += 1
        outcomes = np.frombuffer(answers, np.uint8)
        return np.where(outcomes == Outcome.UNCLASSIFIED, np.nan, outcomes).astype(np.float64)

    def _build_rows(self, questions: GapQuestions, plan: AttributionPlan) -> Iterator[list[Row]]:
        hybrids = questions.plan.masks.shape[1]
        window = self.records.window
        masks = np.concatenate([np.zeros(len(questions.own), np.int64), questions.plan.masks.ravel()])
        sources = np.array(
            [
                np.concatenate([questions.own, np.repeat(side, hybrids)])
                for side in (questions.reference, questions.monitored)
            ]
        )
        record_nos = window.record_nos()
        for chunk in questions.chunks():
            rows = np.unique(sources[:, chunk])
            with arrow_reader(self.database) as reader:
                features = read_record_features(
                    reader, self.records.deployment.no, window.reach(), record_nos[rows].tolist()
                )
            yield [
                _mix(
                    features[int(record_nos[reference])],
                    features[int(record_nos[monitored])],
                    plan.players,
                    mask,
                )
                for reference, monitored, mask in zip(
                    *sources[:, chunk].tolist(), masks[chunk].tolist(), strict=True
                )
            ]


def as_part(value: float, low: float, high: float) -> PartOfGap:
    """Part with its interval; NaN is an unknown end."""
    is_known = not np.isnan([low, high]).any()
    return PartOfGap(
        value=float(value), low=float(low) if is_known else None, high=float(high) if is_known else None
    )


def _mix(reference: Row, monitored: Row, players: Sequence[Sequence[int]], mask: int) -> Row:
    # A copy, because a record's features serve many hybrids.
    row = list(reference)
    for number, player in enumerate(players):
        if mask >> number & 1:
            for position in player:
                row[position] = monitored[position]
    return row
