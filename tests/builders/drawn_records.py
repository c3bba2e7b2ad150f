"""Random monitors and records, and what each record is in by the words of the specification alone, in plain Python."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from app.base.values import GroupValue, Range, Scalar, canonical, name_value, normalised
from app.domain.deployment import Column, FieldKind, FieldType, ProblemType, RecordSchema
from app.domain.monitor import Monitor, MonitoredAttribute, Outcome, OutcomeRule
from app.domain.monitor_rules import list_monitor_problems
from app.sources.stored.record_queries import StoredRecord

Found: TypeAlias = tuple[str, str] | None
"""A group's label and role; None where a record is in no group."""

BEYOND = 2**53 + 1
"""No float is this number."""

TEXTS = ("a", "b", "TRUE", "1", "1.0", " 1", "1e0", "true", "é", 'a "b" \\ × c')
WHOLE = (-3, 0, 1, 2, 17, 18, 25, 26, BEYOND, BEYOND - 1)
REAL = (-2.5, 0.0, 1e-05, 0.5, 1.0, 18.0, 25.5, 26.0, 1e16)

SCHEMA = RecordSchema(
    version=3,
    features=(
        Column(name="text", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
        Column(name="flag", type=FieldType.BOOLEAN, kind=FieldKind.CATEGORICAL),
        Column(name="code", type=FieldType.INTEGER, kind=FieldKind.CATEGORICAL),
        Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
    ),
    meta=(
        Column(name="rate", type=FieldType.NUMBER, kind=FieldKind.CATEGORICAL),
        Column(name="income", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
        Column(name="origin", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    ),
)
COLUMNS = {column.name: column for column in (*SCHEMA.features, *SCHEMA.meta)}
# A numeric column is read as double precision, which whole numbers of this size are beyond.
VALUES: dict[str, tuple[Scalar, ...]] = {
    "text": TEXTS,
    "flag": (True, False),
    "code": WHOLE,
    "age": WHOLE[:-2],
    "rate": REAL,
    "income": REAL,
    "origin": TEXTS,
}
CLASSES: tuple[tuple[Scalar, ...], ...] = ((0, 1, 2, -3, 0.5), TEXTS, (True, False))


@dataclass(frozen=True)
class Drawn:
    """A monitor and records, and per record its outcome and its group of each attribute."""

    monitor: Monitor
    problem_type: ProblemType
    records: list[dict[str, Scalar | None]]
    answers: list[Scalar]
    outcomes: list[int]
    groups: dict[str, list[Found]]

    def of(self, features: Sequence[str]) -> list[Found]:
        """Per record its group of several attributes together."""
        return [_joined(members) for members in zip(*(self.groups[name] for name in features), strict=True)]


def draw(monitors: int, records: int, seed: int) -> Iterator[Drawn]:
    """So many monitors that the service accepts, each with so many records."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < monitors:
        is_real = rng.random() < 0.3
        kind = ProblemType.REGRESSION if is_real else ProblemType.MULTICLASS
        monitor = _monitor(rng, is_real=is_real)
        if list_monitor_problems(monitor, schema=SCHEMA, problem_type=kind, known_metrics=()):
            continue
        made += 1
        yield _drawn(rng, monitor, kind, records)


def _drawn(rng: np.random.Generator, monitor: Monitor, kind: ProblemType, count: int) -> Drawn:
    rows = [{name: None if rng.random() < 0.1 else _one(rng, values) for name, values in VALUES.items()} for _ in range(count)]
    is_real = kind is ProblemType.REGRESSION
    answers = [_one(rng, REAL if is_real else (*CLASSES[0], *TEXTS, *CLASSES[2])) for _ in range(count)]
    groups = {
        attribute.feature: [group_in_words(attribute, COLUMNS[attribute.feature], row[attribute.feature]) for row in rows]
        for attribute in monitor.attributes
    }
    return Drawn(monitor, kind, rows, answers, [outcome_in_words(answer, monitor.outcomes) for answer in answers], groups)


def outcome_in_words(answer: Scalar, rule: OutcomeRule) -> int:
    """Numbers count under numbers, and everything counts under the text that it is written as, or the boolean that it spells."""
    for outcome, members in ((Outcome.FAVOURABLE, rule.favourable), (Outcome.UNFAVOURABLE, rule.unfavourable)):
        if any(_counts_under(answer, member) for member in members):
            return int(outcome)
    return int(Outcome.UNCLASSIFIED)


def group_in_words(attribute: MonitoredAttribute, column: Column, value: Scalar | None) -> Found:
    """The listed group that is this value or holds this number; where no reference is listed, a group of its own."""
    if value is None:
        return None
    for role, members in (("monitored", attribute.monitored), ("reference", attribute.reference or ())):
        for member in members:
            inside = member.lo <= float(value) <= member.hi if isinstance(member, Range) else _is_same(value, member, column)
            if inside:
                return name_value(member), role
    # What differs from a listed value by a blank is in no group.
    if isinstance(value, str) and value.strip() in {listed.strip() for listed in attribute.monitored if isinstance(listed, str)}:
        return None
    return (canonical(value), "reference") if attribute.reference is None else None


def _is_same(value: Scalar, member: Scalar, column: Column) -> bool:
    if column.type in (FieldType.STRING, FieldType.BOOLEAN):
        return value == member
    return value == (float(member) if column.type is FieldType.NUMBER else int(member))


def _counts_under(answer: Scalar, member: GroupValue) -> bool:
    is_number = not isinstance(answer, str | bool)
    if isinstance(member, Range):
        return is_number and member.lo <= float(answer) <= member.hi
    if isinstance(member, bool):
        return canonical(answer).strip().lower() in (("true", "1") if member else ("false", "0"))
    if isinstance(member, str):
        return canonical(answer) == member
    return is_number and answer == member


def _joined(members: tuple[Found, ...]) -> Found:
    groups = [member for member in members if member is not None]
    if len(groups) < len(members):
        return None
    return " × ".join(label for label, _ in groups), "reference" if all(role == "reference" for _, role in groups) else "monitored"


def _monitor(rng: np.random.Generator, *, is_real: bool) -> Monitor:
    names = [str(name) for name in rng.choice(list(COLUMNS), size=int(rng.integers(1, 4)), replace=False)]
    several = [pair for size in (2, 3) for pair in combinations(names, size)]
    return Monitor(
        outcomes=_rule(rng, is_real=is_real),
        attributes=tuple(_attribute(rng, name) for name in names),
        intersections=tuple(pair for pair in several if rng.random() < 0.6),
    )


def _rule(rng: np.random.Generator, *, is_real: bool) -> OutcomeRule:
    if is_real:
        return OutcomeRule(*_sides(rng, _ranges(rng)))
    return OutcomeRule(*_sides(rng, _some(rng, CLASSES[int(rng.integers(3))], 2, 5)))


def _attribute(rng: np.random.Generator, name: str) -> MonitoredAttribute:
    if COLUMNS[name].kind is FieldKind.NUMERIC and rng.random() < 0.7:
        return _attribute_of(name, *_sides(rng, _ranges(rng)))
    monitored, reference = _sides(rng, _some(rng, VALUES[name], 2, 5))
    return _attribute_of(name, monitored, None if rng.random() < 0.4 else reference)


def _attribute_of(name: str, monitored: tuple[GroupValue, ...], reference: tuple[GroupValue, ...] | None) -> MonitoredAttribute:
    return MonitoredAttribute(feature=name, monitored=monitored, reference=reference)


def _ranges(rng: np.random.Generator) -> list[GroupValue]:
    ends = sorted({float(end) for end in rng.choice([-4, -2.5, 0, 0.4, 0.5, 1, 17, 18, 25, 25.5, 26, 90], size=8)})
    return [Range(lo, hi) for lo, hi in zip(ends[::2], ends[1::2], strict=False)]


def _sides(rng: np.random.Generator, listed: Sequence[GroupValue]) -> tuple[tuple[GroupValue, ...], tuple[GroupValue, ...]]:
    cut = int(rng.integers(1, max(len(listed), 2)))
    return tuple(listed[:cut]), tuple(listed[cut:])


def _some(rng: np.random.Generator, pool: Sequence[Any], fewest: int, most: int) -> list[Any]:
    size = min(int(rng.integers(fewest, most + 1)), len(pool))
    return [pool[place] for place in rng.permutation(len(pool))[:size]]


def _one(rng: np.random.Generator, pool: Sequence[Any]) -> Any:  # noqa: ANN401 - a value of the pool
    return pool[int(rng.integers(len(pool)))]


def stored_record(no: int, row: dict[str, object], answer: object) -> StoredRecord:
    """The record as the store answers it."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cells = {name: None if value is None else normalised(value) for name, value in row.items()}  # type: ignore[arg-type]
    return StoredRecord(
        record_no=no,
        record_id=str(no),
        logged_at=now,
        scored_at=now,
        schema_version=SCHEMA.version,
        model_revision="1",
        features=[cells[column.name] for column in SCHEMA.features],
        meta=[cells[column.name] for column in SCHEMA.meta],
        prediction=normalised(answer),  # type: ignore[arg-type]
        probability=None,
        label=None,
        mitigated=None,
        sample_rate=None,
    )
