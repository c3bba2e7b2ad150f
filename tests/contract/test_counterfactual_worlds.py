"""Counterfactual figures over HTTP in worlds of known truth: a model that does not look at the attribute, and one with a known effect.

Every record counts once on each side, so the first gets exactly 1, and the second what brute force gives for everybody as one group
against everybody as the other. OpenScale's own figures count every copy as a record; brute force counts so, too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.base.values import Range, name_value
from app.checks.copies.copy_outcomes import build_copy_target
from app.database.engine import Database
from app.domain.deployment import Column, FieldKind, FieldType
from app.sources.arrays.read_records import Group
from tests.builders.workers import ended, working
from tests.contract.parity import EXACT
from tests.models.serving import serve
from tests.service import RunningService, running_service

Value = str | int
Bar = Callable[[Any], float]
"""The merit from which on a record with that value is approved."""

RECORDS = 130
SEED = 11
AGE = Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC)
GROUP = Column(name="origin", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


def of_age(age: Any) -> float:  # noqa: ANN401 - a JSON value
    """Older people need less merit."""
    return 80 - 0.7 * float(age)


def of_origin(origin: Any) -> float:  # noqa: ANN401 - a JSON value
    """The later the letter, the less merit is needed."""
    return 70 - 6.0 * (ord(str(origin)[0]) - ord("a"))


def of_nobody(_: Any) -> float:  # noqa: ANN401 - a JSON value
    """The same for everybody."""
    return 45.0


@dataclass(frozen=True)
class World:
    """One deployment: an attribute with its values on each side, how many draws, and by what the model decides."""

    name: str
    column: Column
    monitored: tuple[Any, ...]
    reference: tuple[Any, ...]
    draws: int
    bar: Bar

    @property
    def is_blind(self) -> bool:
        """Whether the model does not look at the attribute."""
        return self.bar is of_nobody


def worlds() -> Iterator[World]:
    """Ranges with 1, 2 and 10 draws, and values; 1 to 4 on each side; blind and not."""
    young = ((18, 25), (26, 30), (31, 34), (35, 37))
    old = ((38, 75), (76, 80), (81, 85), (86, 90))
    effects: tuple[tuple[str, Bar, Bar], ...] = (("blind", of_nobody, of_nobody), ("effect", of_age, of_origin))
    for effect, bar, _ in effects:
        for draws, few, many in ((1, 1, 2), (2, 1, 1), (2, 3, 2), (10, 1, 1), (10, 2, 4), (2, 4, 1)):
            yield World(f"age-{effect}-{draws}-{few}-{many}", AGE, young[:few], old[:many], draws, bar)
    for effect, _, bar in effects:
        for few, many in ((1, 1), (1, 2), (2, 1), (3, 4), (4, 2)):
            yield World(f"origin-{effect}-{few}-{many}", GROUP, tuple("abcd"[:few]), tuple("efgh"[:many]), 2, bar)


@dataclass(frozen=True)
class ByMerit:
    """Approves whose merit reaches the bar of their value."""

    column: str
    bar: Bar

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """(0 or 1, a probability) for each row, in order."""
        value, merit = list(columns).index(self.column), list(columns).index("merit")
        return [(1, 0.9) if row[merit] >= self.bar(row[value]) else (0, 0.1) for row in rows]


def records_of(world: World) -> list[dict[str, Any]]:
    """Uneven groups: the first values of a side are the most frequent; merit differs between the sides."""
    random = np.random.default_rng([SEED, len(world.monitored), len(world.reference)])
    sides = (world.monitored, world.reference)
    records = []
    for number in range(RECORDS):
        side = int(random.random() < 0.7)
        value = sides[side][min(int(random.geometric(0.5)) - 1, len(sides[side]) - 1)]
        own: Value = int(random.integers(value[0], value[1] + 1)) if isinstance(value, tuple) else value
        merit = int(random.integers(0, 90)) + 10 * side
        records.append(
            {
                "id": f"record-{number}",
                "features": {world.column.name: own, "merit": merit},
                "prediction": int(merit >= world.bar(own)),
                "probability": 0.5,
            }
        )
    return records


class BruteForce:
    """Every figure straight from its definition, record by record, from what the model says of each copy."""

    def __init__(self, world: World, records: Sequence[dict[str, Any]]) -> None:
        self.world, self.records = world, records
        self.values = [*world.monitored, *world.reference]
        self.own = [next(place for place, value in enumerate(self.values) if self._has(record, value)) for record in records]

    def outcomes(self, record: dict[str, Any], place: int) -> list[int]:
        """The answers to the record's copies into the value."""
        value, world = self.values[place], self.world
        group = Group("", "monitored", Range(float(value[0]), float(value[1])) if isinstance(value, tuple) else value)
        target = build_copy_target(group, world.column, draws=world.draws, seed=SEED)
        copies = [target.draw_changes(record["id"], draw)[world.column.name] for draw in range(target.draws)]
        return [int(record["features"]["merit"] >= world.bar(copy)) for copy in copies]

    def counterfactual(self, of: Sequence[int], against: Sequence[int]) -> tuple[float, float]:
        """The counterfactual rates of both sides, every record once on each."""
        records = [(record, own) for record, own in zip(self.records, self.own, strict=True) if own in (*of, *against)]
        return (
            float(np.mean([self._as(record, own, of) for record, own in records])),
            float(np.mean([self._as(record, own, against) for record, own in records])),
        )

    def each_copy(self, of: Sequence[int], others: Sequence[int]) -> float:
        """The favourable rate of the records and of all copies into these values, every copy a record."""
        found = [record["prediction"] for record, own in zip(self.records, self.own, strict=True) if own in of]
        for record, own in zip(self.records, self.own, strict=True):
            if own in others:
                found += [outcome for place in of for outcome in self.outcomes(record, place)]
        return float(np.mean(found))

    def _as(self, record: dict[str, Any], own: int, places: Sequence[int]) -> float:
        if own in places:
            return float(record["prediction"])
        sizes = [self.own.count(place) for place in places]
        return float(np.average([np.mean(self.outcomes(record, place)) for place in places], weights=sizes))

    @staticmethod
    def _has(record: dict[str, Any], value: Any) -> bool:  # noqa: ANN401 - a value, or the ends of a range
        own = next(iter(record["features"].values()))
        return bool(value[0] <= own <= value[1]) if isinstance(value, tuple) else bool(own == value)


def checked(service: RunningService, world: World, url: str, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The world's deployment, its records logged and checked; the check with its measurements."""
    address = f"/v1/deployments/{world.name}"
    merit = {"name": "merit", "type": "integer", "kind": "numeric"}
    deployment = {
        "id": world.name,
        "name": world.name,
        "problem_type": "binary",
        "features": [{"name": world.column.name, "type": world.column.type, "kind": world.column.kind}, merit],
        "outputs": {"prediction": "prediction", "probability": "probability"},
        "endpoint": {"url": url},
    }
    attribute = {"feature": world.column.name, "monitored": world.monitored, "reference": world.reference}
    monitor = {"favourable": [1], "unfavourable": [0], "attributes": [attribute], "min_records": 10, "draws": world.draws, "seed": SEED}
    for answer in (
        service.client.post("/v1/deployments", json=deployment),
        service.client.put(f"{address}/fairness-monitor", json=monitor),
        service.client.post(f"{address}/payload-records", json={"records": records}),
    ):
        assert answer.is_success, answer.text
    check = ended(service, address, service.client.post(f"{address}/checks", json={}).json())
    assert check["state"] == "succeeded", check["reason"]
    return check


def figure(check: dict[str, Any], metric: str, data: str, scope: str, group: str | None = None) -> dict[str, Any]:
    """The one measurement that fits."""
    key = {"metric": metric, "data": data, "scope": scope, "group": group}
    fitting: list[dict[str, Any]] = [figure for figure in check["measurements"] if key.items() <= figure.items()]
    assert len(fitting) == 1, (key, check["measurements"])
    return fitting[0]


@pytest.mark.nightly
def test_counterfactual_figures_are_those_of_everybody_as_each_group(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service, working(database):
        for world in worlds():
            records = records_of(world)
            with serve(ByMerit(world.column.name, world.bar)) as server:
                check = checked(service, world, server.url, records)
            expect_counterfactual(world, check, BruteForce(world, records))


def expect_counterfactual(world: World, check: dict[str, Any], brute: BruteForce) -> None:
    """Holds the check's counterfactual figures against brute force."""
    reference = range(len(world.monitored), len(brute.values))
    sides: list[tuple[str, str | None, list[int]]] = [("group", _label(value), [place]) for place, value in enumerate(world.monitored)]
    if len(sides) > 1:  # the figures of a single monitored group are those of all of them
        sides.append(("pooled", None, list(range(len(world.monitored)))))
    for scope, group, places in sides:
        as_monitored, as_reference = brute.counterfactual(places, reference)
        impact = figure(check, "disparate_impact", "counterfactual", scope, group)
        difference = figure(check, "statistical_parity_difference", "counterfactual", scope, group)
        openscale = figure(check, "openscale_fairness", "openscale", scope, group)
        assert impact["value"] == pytest.approx(as_monitored / as_reference, abs=EXACT), world.name
        assert difference["value"] == pytest.approx(as_monitored - as_reference, abs=EXACT), world.name
        assert impact["lower"] <= impact["value"] <= impact["upper"]
        assert impact["definition"] == 2
        equality = brute.each_copy(reference, range(len(world.monitored)))
        assert openscale["value"] == pytest.approx(brute.each_copy(places, reference) / equality, abs=EXACT), world.name
        assert openscale["verdict"] is None
        if world.is_blind:
            assert (impact["value"], difference["value"]) == (1, 0), world.name
            assert impact["verdict"] in {"fair", "insufficient_data"}
    assert (figure(check, "flip_rate", "counterfactual", "attribute")["value"] == 0) == world.is_blind


def _label(value: Any) -> str:  # noqa: ANN401 - a value, or the ends of a range
    return name_value(Range(*value)) if isinstance(value, tuple) else name_value(value)
