"""Whatever was posted and corrected in whatever order, tables and later figures are those of records that were logged right at first."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.builders.evidence_worlds import START, Logged, log, update, watched
from tests.builders.queries import rows
from tests.examples import many
from tests.scenes import HOUR, Result, Scene
from tests.service import RunningService

pytestmark = pytest.mark.thorough

HOURS, RECORDS = 3, 120
"""Each record has a random sequence of corrections."""


@dataclass
class World:
    """The values that are stored, by record and kind, and the newest correction of each as the service should know it."""

    random: Random
    values: dict[tuple[str, str], Any] = field(default_factory=dict)
    newest: dict[tuple[str, str], tuple[Any, str]] = field(default_factory=dict)
    named: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: list[tuple[str, str]] = field(default_factory=list)

    def draw(self) -> tuple[dict[str, Any], str]:
        """A correction, and what should become of it."""
        if self.named and self.random.random() < 0.1:
            sent = dict(self.random.choice(list(self.named.values())))
            if self.random.random() < 0.5:
                return sent, "duplicate"
            return sent | {"reason": "for another reason"}, "conflict"
        record, what = key = self.random.choice(list(self.values))
        stored = self.values[key]
        sent = {"record": record, "what": what, "new": self.random.choice([0, 1, 1, 0, None]), "reason": self.random.choice("ab")}
        if self.random.random() < 0.4:
            sent["old"] = self.random.choice([0, 1])
        if self.random.random() < 0.5:
            sent["id"] = f"c-{len(self.named)}"
        elif self.newest.get(key) == (sent["new"], sent["reason"]):
            return sent, "duplicate"
        if sent.get("old", stored) != stored:
            return sent, "conflict"
        if sent["new"] == stored:
            return sent, "rejected"
        self.values[key] = sent["new"]
        self.newest[key] = (sent["new"], sent["reason"])
        self.changed.append(key)
        if "id" in sent:
            self.named[sent["id"]] = sent
        return sent, "corrected"


def post(service: RunningService, world: World) -> None:
    """Sends a few corrections at once, and compares the receipt."""
    drawn = [world.draw() for _ in range(world.random.randint(1, 40))]
    answer = service.client.post("/v1/deployments/a-model/corrections", json={"corrections": [sent for sent, _ in drawn]}).json()
    outcomes = Counter(outcome for _, outcome in drawn)
    receipt = {name: answer[name] for name in ("corrected", "duplicate")} | {"conflict": len(answer["conflicts"])}
    assert receipt == {name: outcomes[name] for name in receipt}, answer
    assert len(answer["rejections"]) == outcomes["rejected"], answer


def tables(stage: Scene) -> list[tuple[Any, ...]]:
    statement = f"""SELECT h.data, h.attribute, h.hour, h.cells FROM evidence_hours h JOIN evidence_eras e ON e.no = h.era_no
        WHERE e.deployment_no = {stage.deployment.no} ORDER BY 1, 2, 3"""  # noqa: S608 - a number
    return [(*place, sorted(cells)) for *place, cells in rows(stage.database, statement)]


def figures(result: Result) -> list[tuple[Any, ...]]:
    return sorted((m.metric, m.data, str(m.attribute), str(m.group), str(m.value), str(m.lower)) for m in result.measurements)


@pytest.mark.parametrize("seed", range(many(4)))
def test_the_tables_are_those_of_the_final_values(service: RunningService, seed: int) -> None:
    world, stage = World(Random(seed)), watched(service.database)
    draw = world.random
    posted = [
        [Logged(START + hour * HOUR, draw.choice(["female", "male"]), draw.randint(0, 1), draw.randint(0, 1)) for _ in range(RECORDS)]
        for hour in range(HOURS)
    ]
    checks = []
    for hour, records in enumerate(posted):
        log(stage, records, first_no=1 + hour * RECORDS)
        for position, record in enumerate(records):
            name = f"{1 + hour * RECORDS}-{position}"
            world.values |= {(name, "prediction"): record.approved, (name, "label"): record.label}
        for _ in range(draw.randint(2, 8)):
            post(service, world)
            if draw.random() < 0.5:
                update(stage, START + 2000 * HOUR)
        checks.append(stage.check(START + hour * HOUR))
    before = [figures(stage.result(check.run)) for check in checks]
    world.changed.clear()
    with stage.database.transaction() as session:
        session.connection().exec_driver_sql("UPDATE checks SET started_at = now()")

    # What is taken away is given back, because nothing can be logged without it.
    for _ in range(draw.randint(5, 10)):
        post(service, world)
    absent = [key for key, value in world.values.items() if value is None]
    sent = [{"record": name, "what": what, "new": draw.randint(0, 1), "reason": "given back"} for name, what in absent]
    if sent:
        assert service.client.post("/v1/deployments/a-model/corrections", json=sent).json()["corrected"] == len(sent)
    world.values |= {key: correction["new"] for key, correction in zip(absent, sent, strict=True)}
    update(stage, START + 2000 * HOUR)

    logged_right = watched(service.database, deployment_id="another")
    for hour, records in enumerate(posted):
        names = [f"{1 + hour * RECORDS}-{position}" for position in range(RECORDS)]
        right = [
            Logged(record.hour, record.sex, world.values[name, "prediction"], world.values[name, "label"])
            for name, record in zip(names, records, strict=True)
        ]
        log(logged_right, right, first_no=10_001 + hour * RECORDS)
    update(logged_right, START + 2000 * HOUR)
    assert tables(stage) == tables(logged_right)
    for hour in range(HOURS):
        assert figures(stage.check(START + hour * HOUR)) == figures(logged_right.check(START + hour * HOUR))

    assert [figures(stage.result(check.run)) for check in checks] == before
    changed = Counter((name.split("-")[0], what) for name, what in {*world.changed, *absent})
    for hour, check in enumerate(checks):
        counted = service.client.get(f"/v1/deployments/a-model/checks/{check.run.id}").json()["corrected_since"]
        assert {count["what"]: count["count"] for count in counted} == {
            what: changed[str(1 + hour * RECORDS), what] for what in ("label", "prediction")
        }
    chains = rows(stage.database, "SELECT record_id, what, array_agg(number ORDER BY no) FROM corrections GROUP BY 1, 2")
    assert all(numbers == list(range(1, len(numbers) + 1)) for _, _, numbers in chains)
