"""Deployments with days of history, whose evidence is collected while processes are killed, and computed again afterwards in one go."""

import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from app.base.clock import HOUR, floor_to_hour
from app.base.errors import Unavailable
from app.database.engine import Database
from app.database.partitions import ensure_months
from app.sources.stored.window_queries import note_changed_hours
from app.statistics.e_values.betting import HourEstimates, estimate_rates, measure_unsteadiness
from app.statistics.e_values.follow import ComparisonFamily, EvidenceSeries, begin_comparison, follow_family
from app.statistics.e_values.nulls import Hours, Limit, Scale, UnfairSide
from tests.builders.hours import count_hours
from tests.crashes.checking import deployment, monitor
from tests.crashes.service import Service

DAYS = 4
"""Length of a history. A transaction of the worker counts a day at most, so that a kill finds some of it counted."""

LARGEST_HOUR = 60
"""Max records in one hour of a history."""

LATE_RECORDS = 30
"""Records that are imported into past hours once a history is followed."""

NUMBERS_OF_A_BLOCK = 1_000
"""Record numbers that each value of the sequence stands for."""

LONGEST_REST_SECONDS = 20.0
TOLERANCE = 1e-9
"""Largest difference of ln of the evidence, which is a sum over hundreds of hours in another order."""

SCALES = {"disparate_impact": Scale.RATIO, "statistical_parity_difference": Scale.DIFFERENCE}


@dataclass(frozen=True, slots=True)
class PastRecord:
    """One record of a history. `prediction` is 1 where it is favourable."""

    at: datetime
    sex: str
    prediction: int


class Historian(threading.Thread):
    """Stores one history after the other, each as a bulk load by SQL, has it watched through HTTP, and imports late records into it."""

    def __init__(self, service: Service, key: str, *, seed: int) -> None:
        super().__init__(name=f"historian-{seed}", daemon=True)
        self.names: list[str] = []
        self.wrong: list[str] = []
        self._service = service
        self._http = httpx.Client(base_url=service.base_url, headers={"Authorization": f"Bearer {key}"}, timeout=15)
        self._chance = random.Random(seed)
        self._stopping = threading.Event()

    def run(self) -> None:
        """Makes history after history."""
        with self._http:
            while not self._stopping.is_set():
                name = f"history-{len(self.names):03d}"
                self._send("POST", "/v1/deployments", deployment(name, None))
                self.names.append(name)
                self._store(name, self._records())
                self._send("PUT", f"/v1/deployments/{name}/fairness-monitor", monitor())
                self._stopping.wait(self._chance.uniform(1, LONGEST_REST_SECONDS))
                late = self._records()
                self._store(name, self._chance.sample(late, LATE_RECORDS))

    def stop(self) -> None:
        """Begins no other history."""
        self._stopping.set()

    def _records(self) -> list[PastRecord]:
        """Hours of men and women; the women's rate falls in one of the hours."""
        hours, base = DAYS * 24, self._chance.uniform(0.3, 0.8)
        until = floor_to_hour(datetime.now(UTC))
        falls, ratio = self._chance.randrange(hours), self._chance.uniform(0.3, 1.0)
        found = []
        for number in range(hours):
            for _ in range(self._chance.randint(0, LARGEST_HOUR)):
                sex = self._chance.choice(("male", "female"))
                rate = base * (ratio if sex == "female" and number >= falls else 1.0)
                at = until - (hours - number) * HOUR + timedelta(seconds=self._chance.uniform(0, 3_599))
                found.append(PastRecord(at, sex, int(self._chance.random() < rate)))
        return found

    def _store(self, name: str, records: list[PastRecord]) -> None:
        """Stores all of them, again and again where Postgres is killed; their hours are noted as the write of an import notes them."""
        token = f"{self._chance.getrandbits(64):x}"
        while True:
            try:
                insert_records(self._service.database_url, name, records, token)
            except (Unavailable, RuntimeError):
                time.sleep(0.2)
            except IntegrityError:  # the commit that was not acknowledged had been made
                return
            else:
                return

    def _send(self, method: str, path: str, document: dict[str, Any]) -> None:
        """Sends it until it is answered; a deployment that an unanswered request made is there already."""
        while True:
            try:
                answer = self._http.request(method, path, json=document)
            except httpx.TransportError:
                time.sleep(0.2)
                continue
            if answer.is_success or (method == "POST" and answer.status_code == httpx.codes.CONFLICT):
                return
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                self.wrong.append(f"{method} {path} answered {answer.status_code}: {answer.text[:300]}")
                return
            time.sleep(0.2)


def insert_records(url: str, name: str, records: Sequence[PastRecord], token: str) -> None:
    """Stores the records in one transaction.

    Raises:
        Unavailable: Postgres went away.
        IntegrityError: they are stored already.
    """
    database = Database(url)
    try:
        with database.transaction() as session:
            ensure_months(session, sorted({(record.at.year, record.at.month) for record in records}))
            no = session.execute(text("SELECT no FROM deployments WHERE id = :id"), {"id": name}).scalar_one()
            # A process of the service reserves a block of numbers with each value of the sequence, and so does this.
            blocks = -(-len(records) // NUMBERS_OF_A_BLOCK)
            starts = session.scalars(text("SELECT nextval('record_no_seq') FROM generate_series(1, :blocks)"), {"blocks": blocks}).all()
            rows = json.dumps(
                [
                    {
                        "no": starts[place // NUMBERS_OF_A_BLOCK] + place % NUMBERS_OF_A_BLOCK,
                        "id": f"{token}-{place}",
                        "at": record.at.isoformat(),
                        "features": [record.sex, 40_000, 40],
                        "prediction": record.prediction,
                    }
                    for place, record in enumerate(records)
                ]
            )
            session.execute(text(_KEYS), {"deployment": no, "rows": rows})
            session.execute(text(_RECORDS), {"deployment": no, "rows": rows})
            note_changed_hours(session, no, sorted({floor_to_hour(record.at) for record in records}))
    finally:
        database.close()


_ROWS = 'FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS n ("no" bigint, id text, at timestamptz, features jsonb, prediction jsonb)'
_KEYS = f"INSERT INTO payload_keys (deployment_no, record_id, record_no, logged_at) SELECT :deployment, id, no, at {_ROWS}"
_RECORDS = (
    "INSERT INTO payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at, features,"
    f" meta, prediction) SELECT :deployment, at, no, id, 1, '1', at, features, '[null, null]', prediction {_ROWS}"
)


@dataclass(frozen=True)
class FollowedAgain:
    """How many comparisons of how many histories were computed again, over how many hours, and those that differ."""

    histories: int
    comparisons: int
    hours: int
    alarms: int
    wrong: tuple[str, ...]


def is_followed(connection: psycopg.Connection[Any], http: httpx.Client, name: str) -> bool:
    """Returns whether the evidence of a history holds every hour that has ended, and no changed hour waits."""
    waiting = connection.execute(
        "SELECT FROM changed_hours h JOIN deployments d ON d.no = h.deployment_no WHERE d.id = %s LIMIT 1", [name]
    ).fetchone()
    found = http.get(f"/v1/deployments/{name}/evidence").raise_for_status().json()
    rows = [row for row in found["comparisons"] if row["id"]]
    return (
        waiting is None
        and bool(rows)
        and not any(row["is_stale"] or _moment(row["until"]) < _moment(found["counted_until"]) for row in rows)
    )


def _moment(words: str) -> datetime:
    return datetime.fromisoformat(words)


def follow_again(connection: psycopg.Connection[Any], http: httpx.Client, names: Sequence[str], *, divisor: int = 10) -> FollowedAgain:
    """Compares the evidence of each history, which was collected hour by hour, with one computation over counts by SQL of our own.

    `divisor` is 10 where nobody says whose the records are.
    """
    wrong: list[str] = []
    comparisons = hours = alarms = 0
    for name in names:
        counts = _count(connection, name)
        found = http.get(f"/v1/deployments/{name}/evidence", params={"limit": 100}).raise_for_status().json()
        rows = [row for row in found["comparisons"] if row["data"] == "as_logged" and row["metric"] in SCALES and row["id"]]
        for row, followed, first in _follow(rows, found, counts, divisor):
            comparisons += 1
            hours += row["hours"]
            alarms += len(followed.episodes)
            wrong += [
                f"evidence of {name}, {row['metric']} {row['direction']}: {problem}" for problem in _differences(row, followed, first)
            ]
        if not rows:
            wrong.append(f"{name} has no evidence")
    return FollowedAgain(len(names), comparisons, hours, alarms, tuple(wrong))


def _count(connection: psycopg.Connection[Any], name: str) -> Counter[tuple[datetime, str, bool]]:
    """Returns records of each hour and sex, by whether the prediction is favourable."""
    rows = connection.execute(
        "SELECT r.logged_at, r.features ->> 0, (r.prediction #>> '{}')::numeric = 1"
        " FROM payload_records r JOIN deployments d ON d.no = r.deployment_no WHERE d.id = %s",
        [name],
    )
    return Counter((floor_to_hour(at), sex, is_favourable) for at, sex, is_favourable in rows)


def _follow(
    rows: Sequence[dict[str, Any]], found: dict[str, Any], counts: Counter[tuple[datetime, str, bool]], divisor: int
) -> Iterator[tuple[dict[str, Any], EvidenceSeries, datetime]]:
    """Yields each comparison with its life, from the first hour in which its monitored group has records, and that hour.

    All share one budget, and an alarm of one may need the others. They have one monitored group, so they begin in one hour. What is known
    before an hour includes hours in which only the reference group had records.
    """
    if not rows:
        return
    (group,) = {row["group"] for row in rows}
    first, begun = min(hour for hour, sex, _ in counts if sex == group), min(hour for hour, _, _ in counts)
    until = _moment(found["counted_until"])
    every = [begun + number * HOUR for number in range((until - begun) // HOUR)]
    hours = every[(first - begun) // HOUR :]

    def sides(of: Sequence[datetime]) -> Hours:
        several = (
            [(counts[hour, sex, True], counts[hour, sex, True] + counts[hour, sex, False]) for hour in of] for sex in (group, "male")
        )
        return count_hours(*several)

    months = [hour.year * 12 + hour.month for hour in hours]
    known, start = sides(every), len(every) - len(hours)
    past = HourEstimates(estimate_rates(known.reference, start=start), measure_unsteadiness(known, start))
    several = []
    for row in rows:
        of_metric = [one for one in rows if one["metric"] == row["metric"]]
        other = next((one["limit"] for one in of_metric if one["direction"] != row["direction"]), None)
        limit = Limit(SCALES[row["metric"]], UnfairSide(row["direction"]), row["limit"], other)
        name = (row["metric"], row["direction"])
        several.append(begin_comparison(sides(hours), limit, months, divisor=divisor, name=name, estimates=past))
    together = ComparisonFamily(math.log(found["false_alarm_hours"]))
    lives = follow_family(together, several, months, total=lambda _: len(several))
    for row, followed in zip(rows, lives, strict=True):
        yield row, followed, first


def _differences(row: dict[str, Any], followed: EvidenceSeries, first: datetime) -> Iterator[str]:
    episode = followed.open_episode
    own: dict[str, Any] = {
        "hours": len(followed.log_evidence),
        "log_evidence": float(followed.log_evidence[-1]),
        "log_fairness": float(followed.log_fairness[-1]),
        "alarm_at": None if episode is None else first + (episode.alarm + 1) * HOUR,
    }
    if episode is not None:
        own["since"] = first + episode.since.hour * HOUR
    for name, value in own.items():
        stored = row[name]
        if isinstance(value, datetime) and stored is not None:
            stored = datetime.fromisoformat(stored)
        is_same = math.isclose(stored, value, rel_tol=TOLERANCE, abs_tol=TOLERANCE) if isinstance(value, float) else stored == value
        if not is_same:
            yield f"{name} is {stored}, computed in one go {value}"
