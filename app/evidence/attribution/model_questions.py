"""Questions to the model about hybrids of a window's records, their cost in rows, and the answers.

No transaction is open meanwhile; features are read in short ones.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec
import numpy as np

from ...base.errors import InvalidInput
from ...base.values import Scalar, canonical, frozen_arrays, read_number
from ...calls.scoring.scoring_client import Refusal
from ...checks.subject import ModelOfCheck
from ...database.engine import ArrowReader, Database, arrow_reader
from ...domain.check import Progress
from ...domain.deployment import Column, FieldKind
from ...domain.monitor import Monitor, Outcome
from ...domain.monitor_rules import MAX_ATTRIBUTED_ROWS
from ...sources.arrays.association import measure_strengths
from ...sources.arrays.favourable_scores import OutcomeClassifier
from ...sources.stored.window_queries import read_record_features
from ...statistics.attribution.cell_parts import count_cells, divide_difference, resample_parts
from ...statistics.attribution.hybrid_values import (
    MAX_PLAYERS,
    MIN_UNITS,
    HybridOutcomes,
    HybridPlan,
    RecordPairs,
    carry_gap,
    choose_pair_count,
    count_hybrids,
    count_pairs,
    draw_pairs,
    join_players,
    plan_hybrids,
)
from ...statistics.group_labels import MISSING, FloatArray, IntArray
from .attribution import (
    AttributedGap,
    AttributionCost,
    AttributionLimits,
    CellsOfFeature,
    HybridShares,
    PartOfGap,
    ResampledUnits,
    ShareOfPlayer,
)
from .compared_records import GapRecords, WindowRecords, read_cells
from .queries import keep_answers, read_answers

MAX_ASSOCIATED_RECORDS = 2_000
"""Max records, the newest, by whose association features move together."""

MAX_CHUNK_ROWS = 10_000
"""Max rows asked about, and stored, at a time."""

MAX_COMPARED_RECORDS = 100
"""Max records of a gap that are asked about as they are: does the model still answer as logged?"""


@frozen_arrays
class GapQuestions:
    """`hybrids` of pairs, and `own`, records as they are; numbers are positions in the window."""

    gap: GapRecords
    monitored: IntArray
    reference: IntArray
    pairs: RecordPairs
    plan: HybridPlan
    own: IntArray

    @classmethod
    def draw(cls, gap: GapRecords, players: int, max_pairs: int, rng: np.random.Generator) -> "GapQuestions":
        pairs = draw_pairs(len(gap.monitored), len(gap.reference), max_pairs, rng)
        monitored = gap.monitored[pairs.monitored]
        reference = gap.reference[pairs.reference]
        compared = np.unique(
            np.concatenate([side[: MAX_COMPARED_RECORDS // 2] for side in (monitored, reference)])
        )
        return cls(gap, monitored, reference, pairs, plan_hybrids(len(pairs), players, rng), compared)

    @property
    def rows(self) -> int:
        return self.plan.masks.size + len(self.own)

    def list_chunks(self) -> Iterator[slice]:
        for start in range(0, self.rows, MAX_CHUNK_ROWS):
            yield slice(start, min(start + MAX_CHUNK_ROWS, self.rows))


@frozen_arrays
class AttributionPlan:
    """Questions of an attribution. `players` are features that move together, by place in the schema."""

    players: tuple[tuple[int, ...], ...]
    questions: tuple[GapQuestions, ...]

    @property
    def rows(self) -> int:
        return sum(gap.rows for gap in self.questions)

    def count_cost(self, page_size: int) -> AttributionCost:
        sizes = [chunk.stop - chunk.start for gap in self.questions for chunk in gap.list_chunks()]
        return AttributionCost(rows=self.rows, requests=sum(-(-size // page_size) for size in sizes))


def plan_attribution(
    reader: ArrowReader, records: WindowRecords, limits: AttributionLimits, *, seed: int = 0
) -> AttributionPlan:
    """Chooses the rows to ask about; the same for the same window and seed.

    Raises InvalidInput: the limits leave fewer pairs than an interval needs, the model has too many features,
    or the monitor has not all of the comparisons.
    """
    # The newest come first in a window.
    associated = np.flatnonzero(records.is_usable)[:MAX_ASSOCIATED_RECORDS]
    if not len(associated):
        return AttributionPlan((), ())
    deployment = records.deployment
    window = records.window
    record_nos = window.record_nos()[associated].tolist()
    features = read_record_features(reader, deployment.no, window.reach(), record_nos)
    values = zip(*(features[no] for no in record_nos), strict=True)
    columns = [
        _read_column(column, column_values)
        for column, column_values in zip(deployment.schema.features, values, strict=True)
    ]
    players = join_players(measure_strengths(columns))
    if len(players) > MAX_PLAYERS:
        raise InvalidInput(
            "features",
            f"of the deployment move in {len(players)} ways, and at most {MAX_PLAYERS} are attributed; send "
            "the model fewer",
        )
    gaps = records.list_gaps(limits.comparisons)
    max_pairs = choose_pair_count(len(players)) if limits.pairs is None else limits.pairs
    max_pairs = _fit_pairs(gaps, len(players), max_pairs, limits.max_rows or MAX_ATTRIBUTED_ROWS)
    rng = np.random.default_rng(seed)
    return AttributionPlan(
        players, tuple(GapQuestions.draw(gap, len(players), max_pairs, rng) for gap in gaps)
    )


def _fit_pairs(gaps: Sequence[GapRecords], players: int, max_pairs: int, max_rows: int) -> int:

    def max_cost(pairs: int) -> int:
        counts = [count_pairs(len(gap.monitored), len(gap.reference), pairs) for gap in gaps]
        return sum(count * count_hybrids(players) + min(2 * count, MAX_COMPARED_RECORDS) for count in counts)

    min_pairs = min(max_pairs, MIN_UNITS)
    if max_cost(min_pairs) > max_rows:
        raise InvalidInput(
            "max_rows",
            f"must be at least {max_cost(min_pairs):,} for this window, found {max_rows:,}: "
            f"{min_pairs} pairs of each gap (here {len(gaps)}) are the fewest that say something. "
            "Raise it, or watch fewer values",
        )
    fits = min_pairs
    too_many = max_pairs + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if max_cost(middle) <= max_rows else (fits, middle)
    return fits


def _read_column(column: Column, values: Sequence[Scalar | None]) -> IntArray | FloatArray:
    if column.kind is FieldKind.NUMERIC:
        numbers = [None if value is None else read_number(value) for value in values]
        return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)
    codes: dict[str, int] = {}
    return np.array(
        [MISSING if value is None else codes.setdefault(canonical(value), len(codes)) for value in values],
        dtype=np.int64,
    )


def choose_seed(monitor: Monitor) -> int:
    return monitor.seed % 2**63


Row: TypeAlias = "list[Scalar | None]"


@dataclass
class HybridScorer:
    """Asks the model about hybrids; `asked` counts rows, each once.

    Answers are kept part by part, for a worker that takes the attribution over.
    """

    database: Database
    records: WindowRecords
    model: ModelOfCheck
    attribution_no: int
    part: int = 0
    asked: int = 0

    def attribute(self, plan: AttributionPlan, *, seed: int = 0) -> tuple[AttributedGap, ...]:
        """A pair with a refused or unclassified hybrid is left out.

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
            answered = HybridOutcomes(
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
                    features=tuple(names[position] for position in player), share=make_part(share, low, high)
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
                batch_outcomes = read_answers(session, self.attribution_no, self.part, question=question)
            if batch_outcomes is None:
                progress = Progress(step="asking the model about hybrids", done=self.asked, total=plan.rows)
                scored = self.model.score(rows, progress)
                batch_outcomes = bytes(
                    Outcome.UNCLASSIFIED
                    if isinstance(scored_row, Refusal)
                    else classify(scored_row.outcome_value)
                    for scored_row in scored
                )
                with self.database.transaction() as session:
                    keep_answers(
                        session, self.attribution_no, self.part, question=question, outcomes=batch_outcomes
                    )
            answers += batch_outcomes
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
        nos = window.record_nos()
        for chunk in questions.list_chunks():
            rows = np.unique(sources[:, chunk])
            with arrow_reader(self.database) as reader:
                features = read_record_features(
                    reader, self.records.deployment.no, window.reach(), nos[rows].tolist()
                )
            yield [
                _mix_rows(features[int(nos[reference])], features[int(nos[monitored])], plan.players, mask)
                for reference, monitored, mask in zip(
                    *sources[:, chunk].tolist(), masks[chunk].tolist(), strict=True
                )
            ]


def make_part(value: float, low: float, high: float) -> PartOfGap:
    """An end that is NaN is unknown."""
    is_known = not np.isnan([low, high]).any()
    return PartOfGap(
        value=float(value), low=float(low) if is_known else None, high=float(high) if is_known else None
    )


def _mix_rows(reference: Row, monitored: Row, players: Sequence[Sequence[int]], mask: int) -> Row:
    # A copy, because a record's features serve many hybrids.
    row = list(reference)
    for number, player in enumerate(players):
        if mask >> number & 1:
            for position in player:
                row[position] = monitored[position]
    return row


class DividedFeatures:
    """`left_out` ones have too many values."""

    def __init__(self, records: WindowRecords) -> None:
        contents = [(column, read_cells(records, column)) for column in records.deployment.schema.features]
        self._contents = [(column, content) for column, content in contents if content is not None]
        self.left_out = tuple(column.name for column, content in contents if content is None)

    def __iter__(self) -> Iterator[tuple[Column, IntArray | FloatArray]]:
        return iter(self._contents)


def divide_gaps(
    records: WindowRecords,
    features: DividedFeatures,
    comparisons: Sequence[Sequence[str]] | None = None,
    *,
    seed: int = 0,
) -> tuple[AttributedGap, ...]:
    """Divides the gaps of the comparisons by cells of each feature; None: of each attribute by itself.

    Raises InvalidInput: the monitor has no such comparison.
    """
    rng = np.random.default_rng([seed, 2])
    gaps = []
    for gap in records.list_gaps(comparisons):
        cells = []
        for column, content in features:
            # Bins of the compared records alone: other groups would move them.
            of_monitored, of_reference = count_cells(
                content, records.is_favourable, (gap.monitored, gap.reference)
            )
            division = divide_difference(of_monitored, of_reference)
            ends = resample_parts(of_monitored, of_reference, rng)
            who_applies, how_treated, no_counterpart = (
                make_part(*division_part)
                for division_part in zip(division.stack().tolist(), ends.low, ends.high, strict=True)
            )
            used_cells = int(((of_monitored.records > 0) | (of_reference.records > 0)).sum())
            cells.append(
                CellsOfFeature(
                    feature=column.name,
                    cells=used_cells,
                    who_applies=who_applies,
                    how_treated=how_treated,
                    no_counterpart=no_counterpart,
                )
            )
        gaps.append(replace(records.measure_gap(gap), cells=tuple(cells)))
    return tuple(gaps)
