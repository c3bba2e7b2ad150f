"""Attribution of a window's gaps to features, by asking the model's endpoint about hybrids of its records. Stores nothing.

`plan_attribution` says how many rows that are, before anything is asked. No transaction is open while the model is called; features are
read in short ones, a chunk of rows at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..attribution.gap import CarriedGap, carry_gap
from ..attribution.hybrids import Answered, HybridPlan, plan_hybrids, usual_pairs
from ..attribution.pairs import RecordPairs, draw_pairs
from ..attribution.players import join_players
from ..domain.checks import Progress
from ..domain.deployments import Column, Deployment, FieldKind
from ..domain.outcomes import Outcome, OutcomeRule
from ..domain.values import Scalar, canonical, number_of
from ..metrics.groups import FloatArray, IntArray
from ..records.cells import MISSING
from ..records.grouping import Grouping
from ..records.outcomes import OutcomeClassifier
from ..records.strengths import measure_strengths
from ..scoring.refusals import Refusal, Scored
from ..store.database.arrow import ArrowReader, arrow_reader
from ..store.database.engine import Database
from ..store.records.window import features_of
from .asking import ModelOfCheck
from .evidence import Evidence
from .rescoring import CHUNK
from .window import PayloadWindow

MAX_ASSOCIATED = 2_000
"""Max records, the newest ones, by which correlated features are found."""

MAX_COMPARED = 100
"""Max records of each gap that the model is asked about as they are, to see whether it still answers as it was logged."""

Row: TypeAlias = "list[Scalar | None]"


@dataclass(frozen=True, slots=True, eq=False)
class GapQuestions:
    """Gap of one monitored group in a window, and its pairs by the positions of their records there.

    `own` are the positions of the records that are asked about as they are.
    """

    attribute: str
    group: str
    gap: float
    monitored: IntArray
    reference: IntArray
    pairs: RecordPairs
    plan: HybridPlan
    own: IntArray

    @property
    def rows(self) -> int:
        """Returns how many rows the model is asked about."""
        return self.plan.masks.size + len(self.own)


@dataclass(frozen=True, slots=True, eq=False)
class AttributionPlan:
    """Questions of an attribution. `players` are the features that move together, by their places in the schema."""

    players: tuple[tuple[int, ...], ...]
    questions: tuple[GapQuestions, ...]

    @property
    def rows(self) -> int:
        """Returns how many rows the model is asked about."""
        return sum(asked.rows for asked in self.questions)


@dataclass(frozen=True, slots=True, eq=False)
class AttributedGap:
    """Gap of one monitored group, and what carries it; None if the model took no hybrid.

    `differing` of `compared` records have another outcome now than was logged: the shares then describe neither model.
    """

    attribute: str
    group: str
    carried: CarriedGap | None
    compared: int
    differing: int


def plan_attribution(
    reader: ArrowReader, deployment: Deployment, evidence: Evidence, *, pairs: int | None = None, seed: int = 0
) -> AttributionPlan:
    """Returns the questions about every gap of a window that has records on both sides; `pairs` of each, or as many as is usual.

    Only records of the present model revision take part: the model cannot be asked what an earlier one would say of hybrids.
    """
    window = evidence.window
    is_present = np.array(window.rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision
    usable = is_present & (evidence.outcomes != Outcome.UNCLASSIFIED)
    # The newest come first in a window.
    associated = np.flatnonzero(usable)[:MAX_ASSOCIATED]
    if not len(associated):
        return AttributionPlan((), ())
    record_nos = window.record_nos()[associated].tolist()
    features = features_of(reader, deployment.no, window.reach(), record_nos)
    values = zip(*(features[no] for no in record_nos), strict=True)
    columns = [_read_column(column, found) for column, found in zip(deployment.schema.features, values, strict=True)]
    players = join_players(measure_strengths(columns))
    most = usual_pairs(len(players)) if pairs is None else pairs
    rng = np.random.default_rng(seed)
    questions = [
        asked for grouping in evidence.groupings for asked in _draw_questions(grouping, evidence.outcomes, usable, len(players), most, rng)
    ]
    return AttributionPlan(players, tuple(questions))


class HybridScorer:
    """Asks the model about the hybrids of a plan."""

    def __init__(self, database: Database, deployment: Deployment, model: ModelOfCheck, *, rule: OutcomeRule) -> None:
        self._database = database
        self._deployment = deployment
        self._model = model
        self._classify = OutcomeClassifier(rule)

    def attribute(self, plan: AttributionPlan, evidence: Evidence, *, seed: int = 0) -> tuple[AttributedGap, ...]:
        """Returns what carries each gap. A pair with a hybrid that the model refuses, or answers with no outcome, is left out.

        Raises:
            ScoringFailed: the model gave no usable answer to some page, or took no row at all.
        """
        rng = np.random.default_rng([seed, 1])
        logged = np.array([np.nan if code == Outcome.UNCLASSIFIED else code for code in evidence.outcomes], dtype=np.float64)
        found, done = [], 0
        for asked in plan.questions:
            answers = self._ask(asked, plan, evidence.window, done)
            done += asked.rows
            own, hybrids = np.split(answers, [len(asked.own)])
            # The pairs' own records keep their logged outcomes, so that the shares sum to the gap of what was logged.
            answered = Answered(logged[asked.reference], logged[asked.monitored], hybrids.reshape(asked.plan.masks.shape))
            found.append(
                AttributedGap(
                    asked.attribute,
                    asked.group,
                    carry_gap(asked.pairs, asked.plan, answered, gap_of_window=asked.gap, rng=rng),
                    compared=len(asked.own),
                    differing=int((own != logged[asked.own]).sum()),
                )
            )
        return tuple(found)

    def _ask(self, asked: GapQuestions, plan: AttributionPlan, window: PayloadWindow, done: int) -> FloatArray:
        """Returns the outcome of each row, those of records as they are first; NaN where there is none."""
        answers: list[float] = []
        for rows in self._build_rows(asked, plan, window):
            progress = Progress(step="asking the model about hybrids", done=done + len(answers), total=plan.rows)
            answers += [self._read(one) for one in self._model.score(rows, progress)]
        return np.array(answers)

    def _read(self, scored: Scored) -> float:
        outcome = Outcome.UNCLASSIFIED if isinstance(scored, Refusal) else self._classify(scored.outcome_value)
        return float("nan") if outcome is Outcome.UNCLASSIFIED else float(outcome)

    def _build_rows(self, asked: GapQuestions, plan: AttributionPlan, window: PayloadWindow) -> Iterator[list[Row]]:
        hybrids = asked.plan.masks.shape[1]
        masks = np.concatenate([np.zeros(len(asked.own), np.int64), asked.plan.masks.ravel()])
        sources = np.array([np.concatenate([asked.own, np.repeat(side, hybrids)]) for side in (asked.reference, asked.monitored)])
        record_nos = window.record_nos()
        for start in range(0, len(masks), CHUNK):
            part = slice(start, start + CHUNK)
            wanted = np.unique(sources[:, part])
            with arrow_reader(self._database) as reader:
                features = features_of(reader, self._deployment.no, window.reach(), record_nos[wanted].tolist())
            yield [
                _mix(features[int(record_nos[reference])], features[int(record_nos[monitored])], plan.players, mask)
                for reference, monitored, mask in zip(*sources[:, part].tolist(), masks[part].tolist(), strict=True)
            ]


def _draw_questions(
    grouping: Grouping, outcomes: IntArray, usable: npt.NDArray[np.bool_], players: int, most: int, rng: np.random.Generator
) -> Iterator[GapQuestions]:
    is_monitored = grouping.is_monitored()
    references = np.flatnonzero(usable & np.isin(grouping.codes, np.flatnonzero(~is_monitored)))
    for place in np.flatnonzero(is_monitored).tolist():
        members = np.flatnonzero(usable & (grouping.codes == place))
        pairs = draw_pairs(len(members), len(references), most, rng)
        if not len(pairs):
            continue
        monitored, reference = members[pairs.monitored], references[pairs.reference]
        rates = [float((outcomes[side] == Outcome.FAVOURABLE).mean()) for side in (members, references)]
        yield GapQuestions(
            attribute=grouping.column.name,
            group=grouping.groups[place].label,
            gap=rates[0] - rates[1],
            monitored=monitored,
            reference=reference,
            pairs=pairs,
            plan=plan_hybrids(len(pairs), players, rng),
            own=np.unique(np.concatenate([side[: MAX_COMPARED // 2] for side in (monitored, reference)])),
        )


def _mix(reference: Row, monitored: Row, players: Sequence[Sequence[int]], mask: int) -> Row:
    # A copy, because a record's features serve many hybrids.
    row = list(reference)
    for number, player in enumerate(players):
        if mask >> number & 1:
            for position in player:
                row[position] = monitored[position]
    return row


def _read_column(column: Column, values: Sequence[Scalar | None]) -> IntArray | FloatArray:
    """Returns a feature as `measure_strengths` takes it."""
    if column.kind is FieldKind.NUMERIC:
        numbers = [None if value is None else number_of(value) for value in values]
        return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)
    places: dict[str, int] = {}
    return np.array([MISSING if value is None else places.setdefault(canonical(value), len(places)) for value in values], dtype=np.int64)
