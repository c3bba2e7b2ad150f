"""Random histories of a deployment, and by brute force over all of it what a check of each moment would read.

A history is played in minutes from `NOON`. It keeps a list of everything that was stored, so the brute force shares no code and no
query with the service.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from app.domain.check import Trigger
from tests.builders.applicants import applicants
from tests.connections import connect
from tests.scenes import NOON, Result, Scene

HOUR_MINUTES = 60


@dataclass(frozen=True)
class StoredRecord:
    """One payload record: its id, number, minute, and whether a woman was approved."""

    id: str
    no: int
    at: int
    is_woman: bool
    is_approved: bool


@dataclass(frozen=True)
class StoredLabel:
    """One observed label: of which record, its number and minute, and whether it says approved. Without a record it has features."""

    of: str | None
    no: int
    at: int
    is_approved: bool


@dataclass(frozen=True)
class Found:
    """What the brute force finds in a window: the numbers, and the counts that figures are made of."""

    records: frozenset[int]
    labels: frozenset[int]
    approved_women: int
    women: int
    approved_men: int
    men: int
    compared: int
    right: int
    """Labels that can be held against what the model said, and those that say the same."""


@dataclass
class Measured:
    """A check that looked for itself, and what the brute force had found for it."""

    id: str
    start: int
    end: int
    found: Found
    logged: int
    """Records of the span, those beyond the maximum included: they are counted, and in no figure."""


@dataclass
class History:
    """One deployment, what was stored of it, and what was checked. `now` is in minutes."""

    stage: Scene
    random: Random
    min_records: int
    max_records: int
    now: int = 1
    records: list[StoredRecord] = field(default_factory=list)
    labels: list[StoredLabel] = field(default_factory=list)
    measured: dict[int, Measured] = field(default_factory=dict)
    """By the end of the span, what the newest check of it has, or carries."""

    checked_hours: int = 0
    batches: int = 0
    logged_at: dict[str, int] = field(default_factory=dict)
    """Of every record that ever was, removed ones included."""

    taken: set[int] = field(default_factory=set)
    carried: int = 0
    looked: int = 0

    def log(self, men: int, women: int, approved_women: int, *, minutes_ago: int = 0) -> None:
        """Logs records, now or in the past, under numbers in no order, as several processes hand them out."""
        at, no = self.now - minutes_ago, self._block(men + women)
        self.stage.number_from(no)
        rows = applicants(men, women, min(women, approved_women), prefix=f"{self.batches}.")
        self.stage.log(rows, NOON + timedelta(minutes=at))
        self.records += [
            StoredRecord(row["id"], no + place, at, row["sex"] == "female", row["prediction"] == 1) for place, row in enumerate(rows)
        ]
        self.logged_at |= {row["id"]: at for row in rows}
        self.batches += 1

    def label(self, count: int, *, minutes_ago: int = 0, before_their_records: bool = False) -> None:
        """Logs labels of records that have none yet, or of records that may be logged later."""
        known = {label.of for label in self.labels}
        ids = [f"{self.batches}.{no}" for no in range(count)] if before_their_records else [record.id for record in self.records]
        chosen = [id_ for id_ in ids if id_ not in known]
        chosen = self.random.sample(chosen, min(count, len(chosen)))
        no, at = self._block(count), self.now - minutes_ago
        verdicts = [self.random.random() < 0.5 for _ in chosen]
        self.stage.number_from(no)
        self.stage.label([(one, int(verdict)) for one, verdict in zip(chosen, verdicts, strict=True)], NOON + timedelta(minutes=at))
        self.labels += [StoredLabel(one, no + place, at, verdicts[place]) for place, one in enumerate(chosen)]

    def label_features(self, count: int, *, minutes_ago: int = 0) -> None:
        """Logs labelled men that were never payload: the model approves each, once a check has asked."""
        no, at = self._block(count), self.now - minutes_ago
        self.stage.number_from(no)
        rows = [{"sex": "male", "income": 1, "age": 30, "label": 1}] * count
        self.stage.label_features(rows, NOON + timedelta(minutes=at))
        self.labels += [StoredLabel(None, no + place, at, is_approved=True) for place in range(count)]

    def remove_oldest(self, count: int) -> None:
        """Removes the oldest records, as somebody does who makes room."""
        gone = sorted(self.records, key=lambda one: (one.at, one.no))[:count]
        with connect(self.stage.database.url) as connection:
            connection.execute(
                "DELETE FROM payload_records WHERE deployment_no = %s AND record_no = ANY(%s)",
                (self.stage.deployment.no, [check.no for check in gone]),
            )
        self.records = [record for record in self.records if record not in gone]

    def let_pass(self, minutes: int) -> None:
        """Lets time pass."""
        self.now += minutes

    def check_now(self) -> None:
        """Checks the hour so far."""
        start = self.now // HOUR_MINUTES * HOUR_MINUTES
        if self.now > start:
            self.check(start, self.now, Trigger.REQUEST)

    def check_hours(self) -> None:
        """Checks each hour that has ended since, as the schedule does."""
        while (self.checked_hours + 1) * HOUR_MINUTES <= self.now:
            start = self.checked_hours * HOUR_MINUTES
            self.check(start, start + HOUR_MINUTES, Trigger.SCHEDULE)
            self.checked_hours += 1

    def check(self, start: int, end: int, trigger: Trigger) -> None:
        """Checks, and holds the result against the brute force.

        It may be carried exactly if the check whose figures it has would find the same today, and nothing came after its span.
        """
        result = self.stage.check(NOON + timedelta(minutes=start), NOON + timedelta(minutes=end), trigger)
        last = self.measured[max(ends)] if (ends := [figure for figure in self.measured if figure <= end]) else None
        holds = last is not None and self._holds(last, start, end)
        has = (
            last
            if holds and last is not None
            else Measured(result.run.id, start, end, self.window(start, end), self._logged_in(start, end))
        )
        if len(has.found.records) < self.min_records:
            assert (result.run.state, result.measurements) == ("insufficient_data", [])
            return
        assert result.run.window is not None
        assert result.run.window.get("carried_from") == (has.id if holds else None)
        assert {figure.carried_forward for figure in result.measurements} == {holds}
        _hold_against(result, has.found)
        if trigger is not Trigger.RANGE:
            self.measured[end] = has
            self.carried, self.looked = self.carried + holds, self.looked + (not holds)

    def check_range(self) -> None:
        """Asks for a check of the hour so far as a range, which must look for itself, and agree with the next check."""
        start = self.now // HOUR_MINUTES * HOUR_MINUTES
        if self.now == start:
            return
        result = self.stage.check(NOON + timedelta(minutes=start), NOON + timedelta(minutes=self.now), Trigger.RANGE)
        found = self.window(start, self.now)
        if len(found.records) >= self.min_records:
            assert result.run.carried_from is None
            _hold_against(result, found)

    def window(self, start: int, end: int) -> Found:
        """What a check of [start, end) would read of all that is stored now."""
        by_id = {record.id: record for record in self.records}
        records = self._newest([(record.at, record.no) for record in self.records], start, end)
        usable = [
            (max(label.at, by_id[label.of].at) if label.of else label.at, label.no)
            for label in self.labels
            if label.of is None or label.of in by_id
        ]
        labels = self._newest(usable, start, end)
        read = [record for record in self.records if record.no in records]
        # Nobody says what the model makes of a label with features of its own, unless there is an endpoint; it approves every man.
        asks = self.stage.deployment.endpoint is not None
        said = {
            label.no: label.of is None or by_id[label.of].is_approved for label in self.labels if label.no in labels and (label.of or asks)
        }
        women, men = [one for one in read if one.is_woman], [one for one in read if not one.is_woman]
        return Found(
            records=records,
            labels=labels,
            approved_women=sum(woman.is_approved for woman in women),
            women=len(women),
            approved_men=sum(man.is_approved for man in men),
            men=len(men),
            compared=len(said),
            right=sum(label.is_approved == said[label.no] for label in self.labels if label.no in said),
        )

    def _newest(self, places: Iterable[tuple[int, int]], start: int, end: int) -> frozenset[int]:
        """The numbers of the newest of the span up to the maximum, then of those before it until the minimum is met."""
        before_end = sorted((place for place in places if place[0] < end), reverse=True)
        own = [place for place in before_end if place[0] >= start][: self.max_records]
        earlier = [place for place in before_end if place[0] < start]
        return frozenset(no for _, no in [*own, *earlier[: max(0, self.min_records - len(own))]])

    def _holds(self, last: Measured, start: int, end: int) -> bool:
        """Whether the check would find the same today, and nothing came after its span."""
        if self.window(last.start, last.end) != last.found or self._is_logged_in(last.end, end):
            return False
        return last.start != start or self._logged_in(last.start, last.end) == last.logged

    def _logged_in(self, start: int, end: int) -> int:
        return sum(start <= record.at < end for record in self.records)

    def _is_logged_in(self, start: int, end: int) -> bool:
        usable = [max(label.at, self.logged_at.get(label.of, label.at)) if label.of else label.at for label in self.labels]
        waiting = [label.of is not None and label.of not in self.logged_at for label in self.labels]
        return self._logged_in(start, end) > 0 or any(start <= at < end for at, waits in zip(usable, waiting, strict=True) if not waits)

    def _block(self, count: int) -> int:
        """The first of `count` numbers that nobody has, of a block chosen at random."""
        while True:
            block = self.random.randrange(1, 4_000) * 1_000
            if block not in self.taken:
                self.taken.add(block)
                assert count <= 1_000
                return block


def _hold_against(result: Result, found: Found) -> None:
    for group, approved, count in (("female", found.approved_women, found.women), ("male", found.approved_men, found.men)):
        measured = result.get("favourable_rate", "as_logged", "sex", group)
        assert measured.n == count
        assert measured.value == (approved / count if count else None)
    accuracy = result.get("accuracy", "labelled", scope="overall")
    assert accuracy.n == found.compared
    # A few labels may all be of one decision, of which no accuracy can be known.
    if accuracy.reason is None or not accuracy.reason.startswith("labels exist for"):
        assert accuracy.value == (found.right / found.compared if found.compared else None)
