"""Explanation of a gap in a DataFrame, with the model or without it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..base.errors import InvalidInput
from ..base.values import frozen, frozen_arrays, frozen_by_name
from ..statistics.attribution.cell_parts import MIN_BINS, count_cells, divide_difference, resample_parts
from ..statistics.attribution.hybrid_values import (
    CarriedGap,
    HybridOutcomes,
    HybridPlan,
    RecordPairs,
    carry_gap,
    choose_pair_count,
    draw_pairs,
    plan_hybrids,
)
from ..statistics.group_labels import IntArray
from .compared_rates import ComparedRecords, check_bins, list_players, read_compared_records, read_rates
from .frame_report import OutcomeLists, classify_outcomes

OptionalInterval = tuple[float, float] | None

Model = Callable[[pd.DataFrame], Any]
"""Takes rows of the feature columns; one value of the prediction column for each."""

MAX_UNCHANGED_ROWS = 100
"""Rows of a gap that are asked as they are: does the model still answer as logged?"""

MAX_ROWS_OF_CALL = 10_000


@frozen_arrays
class PairQuestions:
    """Rows to ask about for a gap, by positions in the frame: both records of each pair, and some asked as
    they are.
    """

    monitored: IntArray
    reference: IntArray
    pairs: RecordPairs
    plan: HybridPlan
    unchanged_rows: IntArray


@frozen
class PlayerShare:
    """Part of a gap that a player carries: a feature, or several that move together."""

    features: tuple[str, ...]
    share: float
    interval: OptionalInterval


@frozen_by_name
class CarriedByFeatures:
    """Gap of the sampled pairs: `players`' shares sum to `gap_of_pairs`, which with `sampling` is the group's
    gap.

    `pairs_left_out` had an unclassified answer.
    """

    gap_of_pairs: float
    sampling: float
    players: tuple[PlayerShare, ...]
    pairs: int
    pairs_left_out: int


@frozen
class PartIntervals:
    """95 % intervals of the parts of a gap; None with too few records."""

    who_applies: OptionalInterval
    how_treated: OptionalInterval
    no_counterpart: OptionalInterval


@frozen_by_name
class FeatureParts:
    """Parts that sum to the gap, by the cells of one feature; those of different features must not be added.

    `who_applies` comes from shares of the cells, `how_treated` from rates within a cell, `no_counterpart`
    from cells that only one group has.
    """

    feature: str
    who_applies: float
    how_treated: float
    no_counterpart: float
    intervals: PartIntervals


@frozen_by_name
class ExplainedGap:
    """Gap of a group: favourable rate minus that of the reference, -1 to 1; None if either has no record.

    `carried` is None without a model, or if no pair has all its answers.
    """

    group: str
    reference: str
    gap: float | None
    carried: CarriedByFeatures | None
    parts: tuple[FeatureParts, ...]


@frozen_by_name
class GapExplanation:
    """Explanation of each monitored group's gap, for which the model was asked about so many `rows`."""

    attribute: str
    groups: tuple[ExplainedGap, ...]
    rows: int
    warnings: tuple[str, ...]


@frozen_arrays
class GapPlan:
    """Questions to a model that will explain the gaps. `players` are the features that move together."""

    players: tuple[tuple[str, ...], ...]
    _records: ComparedRecords
    _positions: tuple[tuple[int, ...], ...]
    _questions: tuple[PairQuestions, ...]
    _bins: int
    _draws: int
    _seed: int

    @property
    def rows(self) -> int:
        """Rows to ask about: hybrids, and per monitored group up to 100 records as they are."""
        return sum(questions.plan.masks.size + len(questions.unchanged_rows) for questions in self._questions)

    def explain(self, model: Model | None = None) -> GapExplanation:
        """Asks the model, if there is one, and says what carries the gaps."""
        records = self._records
        rng = np.random.default_rng([self._seed, 1])
        gaps = []
        warnings = list(records.grouping.warnings)
        for position, questions in zip(records.monitored, self._questions, strict=True):
            favourable = records.favourable
            sides = records.find_sides(position)
            is_known = all(map(len, sides))
            parts = []
            for feature in records.features if is_known else ():
                # Bins of the compared records alone: other groups would move them.
                monitored, reference = count_cells(feature.places, favourable, sides, self._bins)
                difference = divide_difference(monitored, reference)
                ends = resample_parts(monitored, reference, rng, self._draws)
                parts.append(
                    FeatureParts(
                        feature=feature.name,
                        who_applies=float(difference.of_shares),
                        how_treated=float(difference.of_rates),
                        no_counterpart=float(difference.no_counterpart),
                        intervals=PartIntervals(*map(_read_interval, ends.low, ends.high)),
                    )
                )
            label = records.grouping.groups[position].label
            gap = float(favourable[sides[0]].mean() - favourable[sides[1]].mean()) if is_known else None
            carried = None
            if model is not None and gap is not None:
                outcomes, differing = self._ask(questions, model)
                if differing:
                    warnings.append(
                        f"{label}: the model answers {differing} of {len(questions.unchanged_rows)} logged "
                        "records differently. If it is another model than the logged one, "
                        "the shares describe neither of them."
                    )
                gap_of_pairs = carry_gap(
                    questions.pairs, questions.plan, outcomes, gap_of_window=gap, rng=rng, draws=self._draws
                )
                carried = self._name_shares(gap_of_pairs) if gap_of_pairs else None
            gaps.append(
                ExplainedGap(
                    group=label,
                    reference=records.grouping.reference_label,
                    gap=gap,
                    carried=carried,
                    parts=tuple(parts),
                )
            )
        rows = 0 if model is None else self.rows
        return GapExplanation(
            attribute=records.grouping.attribute, groups=tuple(gaps), rows=rows, warnings=tuple(warnings)
        )

    def _ask(self, questions: PairQuestions, model: Model) -> tuple[HybridOutcomes, int]:
        """Outcomes, and how many unchanged records the model answers differently from the log."""
        predictions = list[Any]()
        for rows in self._build_rows(questions):
            # A DataFrame of probabilities would pass as a list of its columns' names.
            array = np.asarray(model(rows))
            if array.shape != (len(rows),):
                raise InvalidInput(
                    "model",
                    f"must return one prediction for each of {len(rows):,} rows, found an array of shape "
                    f"{array.shape}",
                )
            predictions += array.tolist()
        rates = read_rates(
            classify_outcomes(pd.Series(predictions, name="model's answer"), self._records.lists, "model")
        )
        unchanged, hybrids = np.split(rates, [len(questions.unchanged_rows)])
        # The pairs' own records keep their logged outcomes, so that the shares sum to the gap of the log.
        logged = read_rates(self._records.outcomes)
        outcomes = HybridOutcomes(
            logged[questions.reference],
            logged[questions.monitored],
            hybrids.reshape(questions.plan.masks.shape),
        )
        return outcomes, int((unchanged != logged[questions.unchanged_rows]).sum())

    def _build_rows(self, questions: PairQuestions) -> Iterator[pd.DataFrame]:
        player_of = {feature: number for number, player in enumerate(self._positions) for feature in player}
        hybrids = questions.plan.masks.shape[1]
        masks = np.concatenate([np.zeros(len(questions.unchanged_rows), int), questions.plan.masks.ravel()])
        of_reference = np.concatenate([questions.unchanged_rows, np.repeat(questions.reference, hybrids)])
        of_monitored = np.concatenate([questions.unchanged_rows, np.repeat(questions.monitored, hybrids)])
        for start in range(0, len(masks), MAX_ROWS_OF_CALL):
            chunk = slice(start, start + MAX_ROWS_OF_CALL)
            columns = {}
            for position, feature in enumerate(self._records.features):
                is_monitored = masks[chunk] >> player_of[position] & 1 == 1
                source = np.where(is_monitored, of_monitored[chunk], of_reference[chunk])
                # By position: an index may name a record twice. The column keeps its type.
                columns[feature.name] = self._records.frame[feature.name].iloc[source].reset_index(drop=True)
            yield pd.DataFrame(columns)

    def _name_shares(self, gap: CarriedGap) -> CarriedByFeatures:
        shares = [
            PlayerShare(player, float(share), _read_interval(low, high))
            for player, share, low, high in zip(
                self.players, gap.shares, gap.ends.low, gap.ends.high, strict=True
            )
        ]
        return CarriedByFeatures(
            gap_of_pairs=gap.gap_of_pairs,
            sampling=gap.sampling,
            players=tuple(sorted(shares, key=lambda share: -abs(share.share))),
            pairs=gap.pairs,
            pairs_left_out=gap.left_out,
        )


def plan_gap(
    frame: pd.DataFrame,
    *,
    attribute: str | Sequence[str],
    prediction: str,
    features: Sequence[str] | str,
    favourable: object = 1,
    unfavourable: object = None,
    monitored: object = None,
    reference: object = None,
    together: Sequence[Sequence[str]] | None = None,
    pairs: int | None = None,
    bins: int = MIN_BINS,
    draws: int = 2000,
    seed: int = 0,
) -> GapPlan:
    """Plans the questions of `explain_gap` with the same arguments: how many rows it will ask about.

    `features` are all columns that the model decides by. Features whose association is at least 0.5 move
    together, unless `together` lists those that do. `pairs` of a monitored and a reference record are
    compared: 500, or 4,000 with more than six players. Numbers are divided into `bins`. `draws` and `seed`
    fix the resampling of the intervals, `seed` the choice of pairs as well. The other arguments are those of
    `measure_frame`.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    lists = OutcomeLists.of(favourable, unfavourable)
    records = read_compared_records(frame, attribute, prediction, features, lists, monitored, reference)
    for name, number, least in (("pairs", pairs, 1), ("draws", draws, 10), ("seed", seed, 0)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < least):
            raise InvalidInput(name, f"must be a whole number, {least} or more, found {number!r:.100}")
    players = list_players(records.features, together)
    rng = np.random.default_rng(seed)
    questions = []
    for position in records.monitored:
        sides = records.find_sides(position)
        drawn = draw_pairs(
            len(sides[0]), len(sides[1]), choose_pair_count(len(players)) if pairs is None else pairs, rng
        )
        compared = sides[0][drawn.monitored], sides[1][drawn.reference]
        unchanged = np.unique(np.concatenate([side[: MAX_UNCHANGED_ROWS // 2] for side in compared]))
        questions.append(
            PairQuestions(*compared, drawn, plan_hybrids(len(drawn), len(players), rng), unchanged)
        )
    names = tuple(tuple(records.features[position].name for position in player) for player in players)
    return GapPlan(names, records, players, tuple(questions), check_bins(bins), draws, seed)


def explain_gap(
    frame: pd.DataFrame,
    model: Model | None = None,
    **arguments: Any,  # noqa: ANN401 - those of `plan_gap`
) -> GapExplanation:
    """Returns what carries the gap of each monitored group: its favourable rate less that of the reference.

    `model` takes a DataFrame of the features and returns one value of the prediction column for each row;
    `plan_gap` says beforehand how many rows that are. Without a model the gap is divided by the cells of each
    feature only. The other arguments, and the errors, are those of `plan_gap`.
    """
    return plan_gap(frame, **arguments).explain(model)


def _read_interval(low: float, high: float) -> OptionalInterval:
    return None if np.isnan([low, high]).any() else (float(low), float(high))
