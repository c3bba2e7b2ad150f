"""Stored counts of one metric as series of hours, one for each group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, repeat
from typing import TypeAlias

import numpy as np

from ..base.clock import HOUR
from ..base.frozen import frozen
from ..domain.check import Span
from ..statistics.e_values.betting import Past, look_back, weigh_against_fairness, weigh_against_unfairness
from ..statistics.e_values.hour_counts import FloatArray, Hours, Side, join_hours
from ..statistics.e_values.nulls import Limit
from ..statistics.e_values.paired_bets import Kind, PairedHours, pair_hours, weigh_pairs_against_fairness, weigh_pairs_against_unfairness
from .queries.hour_counts import Cells
from .watched_figures import RateDefinition

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

BLOCK = 100
"""Hours of pairs weighed together."""


def number_hour(hour: datetime) -> int:
    """Number of an hour since 1970."""
    return (hour - EPOCH) // HOUR


def find_hour_start(number: int) -> datetime:
    return EPOCH + number * HOUR


def number_month(number: int) -> int:
    """Number of an hour's calendar month, without gaps."""
    start = find_hour_start(number)
    return start.year * 12 + start.month


@dataclass(frozen=True, eq=False)
class RateSeries:
    """Counts of a monitored group and the reference from the hour of number `first` on."""

    first: int
    hours: Hours

    @cached_property
    def past(self) -> Past:
        return look_back(self.hours)

    def between(self, start: int, end: int) -> Hours:
        """Hours from number `start` to `end`, exclusive."""
        return self.hours.between(start - self.first, end - self.first)


@frozen(eq=False)
class PairSeries:
    """Kinds of records of a monitored group and the reference from the hour of number `first` on."""

    first: int
    kinds: Sequence[Sequence[Kind]]

    def pairs(self, start: int, end: int) -> PairedHours:
        """Hours from number `start` to `end`, exclusive."""
        return pair_hours(self.kinds[start - self.first : end - self.first])

    def between(self, start: int, end: int) -> Hours:
        """Sums of outcomes of these hours, as if the sides' records were different ones."""
        return self.pairs(start, end).sums()


Series: TypeAlias = RateSeries | PairSeries


def read_series(definition: RateDefinition, counted: Mapping[datetime, Cells], span: Span, groups: Sequence[str]) -> list[Series]:
    """Series of these groups over the span; hours without counts have zeros."""
    first, size = number_hour(span.start), (span.end - span.start) // HOUR
    position_of = {group: position for position, group in enumerate(groups)}
    if definition.is_paired:
        kinds: list[list[Sequence[Kind]]] = [[()] * size for _ in groups]
        for hour, cells in counted.items():
            for label, role, pairs, *_ in cells:
                if role == "monitored" and label in position_of:
                    kinds[position_of[label]][number_hour(hour) - first] = [(pair[0], pair[1], pair[2]) for pair in pairs]
        return [PairSeries(first, of_group) for of_group in kinds]
    columns = list(zip(*chain.from_iterable(counted.values()), strict=True))
    labels, roles, *numbers = columns or [()] * (2 + max(definition.part, definition.whole) + 1)
    # The last place but one is that of all reference groups together, the last one that of all others.
    of_reference, of_others = len(groups), len(groups) + 1
    positions = map(position_of.get, labels, repeat(of_others))
    # Other roles are those of records that are left out.
    at_groups = [
        {"reference": of_reference, "monitored": position}.get(role, of_others) for role, position in zip(roles, positions, strict=True)
    ]
    at_hours = np.repeat([number_hour(hour) - first for hour in counted], [len(cells) for cells in counted.values()])
    at = np.array(at_groups, np.intp) * size + np.asarray(at_hours, np.intp)
    summands = (numbers[definition.part], numbers[definition.whole])
    sums = [np.bincount(at, column, (len(groups) + 2) * size).reshape(-1, size)[:-1] for column in summands]
    *monitored, reference = [Side(favourable, records) for favourable, records in zip(*sums, strict=True)]
    return [RateSeries(first, Hours(side, reference)) for side in monitored]


def weigh_series(several: Sequence[Series], limit: Limit, start: int, end: int) -> list[tuple[FloatArray, FloatArray]]:
    """Ln E [H, A] from `start` to `end` (exclusive) against fairness and against unfairness, for each series.

    Series of rates must begin `UNSTEADINESS_HOURS` before `start`, or with the first hour that counts.
    """
    rates = [series for series in several if isinstance(series, RateSeries)]
    if not rates:
        return [_weigh_pairs(series, limit, start, end) for series in several if isinstance(series, PairSeries)]
    hours = [rate.between(start, end) for rate in rates]
    pasts = [rate.past.since(start - rate.first) for rate in rates]
    together = join_hours(hours)
    size = end - start
    past = Past(
        np.concatenate([past.reference[:size] for past in pasts]),
        np.concatenate([past.divisor[:size] for past in pasts]),
    )
    unfair, fair = weigh_against_fairness(together, limit, past), weigh_against_unfairness(together, limit, past)
    return list(zip(*(weighed.reshape(len(rates), size, weighed.shape[-1]) for weighed in (unfair, fair)), strict=True))


def _weigh_pairs(series: PairSeries, limit: Limit, start: int, end: int) -> tuple[FloatArray, FloatArray]:
    blocks = [series.pairs(at, min(at + BLOCK, end)) for at in range(start, end, BLOCK)]
    unfair, fair = (
        np.concatenate([weigh(block, limit.value, limit.direction) for block in blocks])
        for weigh in (weigh_pairs_against_fairness, weigh_pairs_against_unfairness)
    )
    return unfair, fair
