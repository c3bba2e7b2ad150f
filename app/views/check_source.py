"""What the views of one check are made from: its stored tables and measurements, and nothing else."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.orm import Session

from app.checks.measuring import measure_table
from app.checks.revisions import explained
from app.checks.tabulation import ADDITIONAL, TABLE_TYPES, Table, merged, stored_revisions
from app.domain.checks import CheckRun, DataSet, Measurement
from app.domain.monitors import Monitor
from app.domain.outcomes import OutcomeRule
from app.domain.texts import TOGETHER
from app.store.checks import get
from app.store.monitors import monitor_of
from app.store.results import data_sets_of, measurements_of, tables_of

_NOBODY: Final = OutcomeRule(favourable=(), unfavourable=())


@dataclass(frozen=True, slots=True)
class StoredParts:
    """One table of a check: `additional` is the part of earlier hours in `whole`, `cells` are the parts as they are stored."""

    whole: Table
    additional: Table
    cells: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """A check, and the one that counted its records: itself, unless it was carried forward. `data_sets` are those with tables."""

    check: CheckRun
    counted: CheckRun
    data_sets: frozenset[DataSet]

    @property
    def window(self) -> Mapping[str, Any]:
        """The description of the records that were counted; empty before there is one."""
        return self.counted.window or {}


@dataclass(frozen=True, slots=True)
class CheckSource:
    """The tables and measurements of a check, as far as a view needs them. `seed` is that of the monitor, for intervals."""

    standing: Standing
    tables: Mapping[tuple[DataSet, str], StoredParts]
    figures: tuple[Measurement, ...]
    seed: int

    @property
    def window(self) -> Mapping[str, Any]:
        """The description of the records that were counted."""
        return self.standing.window

    def attributes(self) -> list[str]:
        """The attributes that the window was divided by, in the order of the monitor as far as the measurements show it."""
        counted = [attribute for data, attribute in self.tables if data is DataSet.PAYLOAD]
        measured = dict.fromkeys(one.attribute for one in self.figures if one.data is DataSet.PAYLOAD)
        order = {attribute: place for place, attribute in enumerate(measured)}
        return sorted(counted, key=lambda attribute: (is_together(attribute), order.get(attribute, len(order)), attribute))

    def of(self, data: DataSet, attribute: str, metric: str) -> Iterator[Measurement]:
        """The check's own measurements of a metric."""
        return (one for one in self.figures if (one.data, one.attribute, one.metric) == (data, attribute, metric))

    def measured(self, data: DataSet, attribute: str, metric: str, table: Table) -> list[Measurement]:
        """The check's own measurements of a rate; where its monitor did not pick it, the same code over the same table."""
        return list(self.of(data, attribute, metric)) or self.measured_anew(data, attribute, metric, table)

    def measured_anew(self, data: DataSet, attribute: str, metric: str, table: Table) -> list[Measurement]:
        """A rate, which has no limits, measured from a table."""
        only = Monitor(outcomes=_NOBODY, attributes=(), metrics=(metric,), seed=self.seed)
        measured = measure_table(data, attribute, table, monitor=only, at=self.standing.check.span.end)
        stored = self.tables.get((data, attribute))
        return list(explained(measured, table.groups, stored_revisions(() if stored is None else stored.cells)))


def standing_of(session: Session, check: CheckRun) -> Standing:
    """Where a check stands, for those who only ask which views it has."""
    carried_from = (check.window or {}).get("carried_from")
    counted = check if carried_from is None else get(session, check.deployment_no, str(carried_from))
    return Standing(check, counted, frozenset(data_sets_of(session, counted.no)))


def source_of(session: Session, standing: Standing, *, data: Sequence[DataSet], metrics: Collection[str]) -> CheckSource:
    """The tables of those data sets and the measurements of those metrics."""
    found: dict[tuple[DataSet, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for stored in tables_of(session, standing.counted.no, data=data):
        found.setdefault((stored.data, stored.attribute), []).append((stored.part, stored.cells))
    monitor = monitor_of(session, standing.check.deployment_no)
    return CheckSource(
        standing,
        {(of_data, attribute): _parts(of_data, parts) for (of_data, attribute), parts in found.items()},
        tuple(measurements_of(session, standing.check.no, metrics=metrics)),
        0 if monitor is None else monitor.seed,
    )


def is_together(attribute: str) -> bool:
    """Whether the attribute is several watched together."""
    return TOGETHER in attribute


def features_of(attribute: str) -> tuple[str, ...]:
    """The attribute, or those that are watched together."""
    return tuple(attribute.split(TOGETHER))


def _parts(data: DataSet, parts: Sequence[tuple[str, Mapping[str, Any]]]) -> StoredParts:
    tables = [(part, TABLE_TYPES[data].from_json(cells)) for part, cells in parts]
    return StoredParts(
        merged(data, [table for _, table in tables]),
        merged(data, [table for part, table in tables if part == ADDITIONAL]),
        tuple(cells for _, cells in parts),
    )
