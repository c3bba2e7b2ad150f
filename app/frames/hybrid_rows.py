"""Rows that a model is asked about to explain a gap."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..attribution.hybrids import Answered, HybridPlan, plan_hybrids
from ..attribution.pairs import RecordPairs, draw_pairs
from ..errors import InvalidInput
from ..metrics.groups import IntArray
from .compared import ComparedRecords, as_rates
from .outcomes import outcomes_of

Model: TypeAlias = Callable[[pd.DataFrame], Any]
"""Takes rows of the feature columns, with the frame's types; one value of the prediction column for each."""

MAX_COMPARED = 100
"""Max records of each comparison asked about as they are, to see whether it is the logged model."""

ROWS_OF_A_CALL = 10_000
"""Max rows of one call of the model."""

Players: TypeAlias = tuple[tuple[int, ...], ...]
"""Features of each player, by position."""


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """A monitored group's pairs, their hybrids, and records asked about as they are, by position in the frame."""

    monitored: IntArray
    reference: IntArray
    pairs: RecordPairs
    plan: HybridPlan
    own: IntArray

    @property
    def rows(self) -> int:
        """Rows that the model is asked about."""
        return self.plan.masks.size + len(self.own)


@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """Outcomes of the pairs and hybrids, and how many records asked about as they are differ from the log."""

    answered: Answered
    differing: int


def draw_questions(records: ComparedRecords, place: int, players: Players, most: int, rng: np.random.Generator) -> Questions:
    """Questions about a monitored group, of at most that many pairs."""
    monitored, reference = records.records_of(place), records.reference_records()
    pairs = draw_pairs(len(monitored), len(reference), most, rng)
    positions = monitored[pairs.monitored], reference[pairs.reference]
    own = np.unique(np.concatenate([side[: MAX_COMPARED // 2] for side in positions]))
    return Questions(*positions, pairs, plan_hybrids(len(pairs), len(players), rng), own)


def ask_model(records: ComparedRecords, asked: Questions, players: Players, model: Model) -> Replies:
    """Replies to the questions.

    Raises:
        InvalidInput: the model did not return exactly one prediction for each row, or none is an outcome.
    """
    predictions: list[Any] = []
    for rows in _build_rows(records, asked, players):
        predictions += _read_predictions(model(rows), len(rows))
    found = as_rates(outcomes_of(pd.Series(predictions, name="model's answer"), records.lists, "model"))
    own, hybrids = np.split(found, [len(asked.own)])
    # The pairs' own records keep their logged outcomes, so that the shares sum to the gap of the log.
    logged = as_rates(records.outcomes)
    answered = Answered(logged[asked.reference], logged[asked.monitored], hybrids.reshape(asked.plan.masks.shape))
    return Replies(answered, differing=int((own != logged[asked.own]).sum()))


def _build_rows(records: ComparedRecords, asked: Questions, players: Players) -> Iterator[pd.DataFrame]:
    player_of = {feature: number for number, player in enumerate(players) for feature in player}
    hybrids = asked.plan.masks.shape[1]
    masks = np.concatenate([np.zeros(len(asked.own), np.int64), asked.plan.masks.ravel()])
    of_reference = np.concatenate([asked.own, np.repeat(asked.reference, hybrids)])
    of_monitored = np.concatenate([asked.own, np.repeat(asked.monitored, hybrids)])
    for start in range(0, len(masks), ROWS_OF_A_CALL):
        part = slice(start, start + ROWS_OF_A_CALL)
        columns = {}
        for position, feature in enumerate(records.features):
            is_monitored = masks[part] >> player_of[position] & 1 == 1
            source = np.where(is_monitored, of_monitored[part], of_reference[part])
            # By position: an index may name a record twice. The column keeps its type.
            columns[feature.name] = records.frame[feature.name].iloc[source].reset_index(drop=True)
        yield pd.DataFrame(columns)


def _read_predictions(found: object, rows: int) -> Sequence[Any]:
    # A DataFrame of probabilities would pass as a list of its columns' names.
    array: npt.NDArray[Any] = np.asarray(found)
    if array.shape != (rows,):
        raise InvalidInput.of("model", f"must return one prediction for each of {rows:,} rows, found an array of shape {array.shape}")
    return array.tolist()  # type: ignore[no-any-return]
