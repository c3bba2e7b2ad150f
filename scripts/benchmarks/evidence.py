"""Compares the evidence of a deployment with 100 comparisons with the checks that it belongs to, in one run.

A year of hourly counts is put into its own Postgres (fsync on), and the states of all comparisons are computed from it; then hour after
hour is logged, checked and its evidence updated, without an endpoint. Printed are medians on the wall and of the processors, Postgres
included. Goals, in processor time: 50 ms an hour, and a year within 40 s.
"""

import contextlib
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import psycopg
from sqlalchemy import event

from app.cli.database import spare_loaded_objects
from app.database.engine import Database
from app.domain.check import DataSet, Span
from app.domain.deployment import FieldType
from app.domain.monitor import Limits, Monitor, MonitoredAttribute, OutcomeRule
from app.evidence.queries.eras import begin_era, find_era, note_progress, read_followed_deployment
from app.evidence.queries.hour_counts import CountedHour, CountedPlace, replace_hours
from app.evidence.settle import settle_figures
from app.evidence.update import update_deployment
from app.evidence.watched_figures import FollowedEra
from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import find_postgres, postgres_seconds
from scripts.benchmarks.staging import columns_of, own_database
from tests.scenes import HOUR, NOON, Scene, scene

GOAL_MILLISECONDS = 50
GOAL_YEAR_SECONDS = 40
HOURS_OF_A_YEAR = 8_760
NAMES = [f"column_{position}" for position in range(5)]
MONITORED = [f"group_{position}" for position in range(4)]
"""Their groups together are one more comparison."""
REFERENCE = "reference"
FAVOURABLE = (0.46, 0.5)


@dataclass
class Timed:
    """Seconds of one kind of work, on the wall and of processors. `statements` are those of SQLAlchemy, per time."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    statements: list[int] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def mean_processor(self) -> float:
        """Mean processor seconds: Postgres' are counted in steps of 10 ms, so single ones say little."""
        return statistics.mean(self.processor)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="hours that are checked and added one by one")
    parser.add_argument("--records", type=int, default=1_000, help="records an hour")
    parser.add_argument("--hours", type=int, default=HOURS_OF_A_YEAR, help="hours that are recomputed")
    options = parser.parse_args()
    with own_database() as (database, _):
        bench = Bench(database, options.records)
        bench.count_past(options.hours)
        spare_loaded_objects()
        sides = bench.run(options.rounds)
    sys.exit(report(sides, options.hours))


class Bench:
    def __init__(self, database: Database, records: int) -> None:
        differences = Limits(lower=-0.1, upper=0.1)
        attributes = tuple(
            MonitoredAttribute(
                feature=name,
                monitored=tuple(MONITORED),
                reference=(REFERENCE,),
                threshold=0.8,
                upper_threshold=1.25,
                metric_limits=(("statistical_parity_difference", differences),),
            )
            for name in NAMES
        )
        self._database = database
        self._stage: Scene = scene(
            database,
            columns_of(dict.fromkeys(NAMES, FieldType.STRING)),
            Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=attributes),
            endpoint=None,
            probability=None,
        )
        self._records = records
        self._postgres = find_postgres(database.url)
        self._rng = np.random.default_rng(14)

    def count_past(self, hours: int) -> None:
        """Stores counts of the hours before noon, as if they had been counted when they ended."""
        no, span = self._stage.deployment.no, Span(start=NOON - hours * HOUR, end=NOON)
        with self._database.transaction() as session:
            monitor, deployment = self._stage.monitor(), read_followed_deployment(session, no)
            begin_era(session, no, monitor.version, deployment.model_revision, starts_at=None)
            era = find_era(session, no, deployment.model_revision)
            assert era is not None  # noqa: S101 - for the type: it has just begun
            counted = list(self._draw_counts(span, hours))
            replace_hours(session, era.no, DataSet.AS_LOGGED, span, counted, {one.place.attribute: span.start for one in counted})
            settle_figures(session, FollowedEra(deployment, monitor, era), (), DataSet.AS_LOGGED, span, counted)
            note_progress(session, era.no, counted_until=NOON, labels_until=NOON)
        with psycopg.connect(self._database.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")

    def run(self, rounds: int) -> dict[str, Timed]:
        year, restarted, idle, check, update = (Timed() for _ in range(5))
        with self._metered(year):
            self._update(NOON)
        for number in range(rounds + 1):
            hour = NOON + number * HOUR
            self._stage.log(self._draw_records(), hour)
            with self._metered(check if number else Timed()):
                self._stage.check(hour)
            with self._metered(update if number else Timed()):
                self._update(hour + HOUR)
        hour = NOON + (rounds + 1) * HOUR
        with self._metered(idle):
            self._update(hour)
        self._database.close()
        self._database = Database(self._database.url)
        with self._database.transaction():
            pass
        with self._metered(restarted):
            self._update(hour)
        self._database.close()
        return {"check": check, "update": update, "idle": idle, "restarted": restarted, "year": year}

    def _update(self, until: datetime) -> None:
        update_deployment(self._database, self._stage.deployment.no, until)

    def _draw_counts(self, span: Span, hours: int) -> Iterator[CountedHour]:
        sizes = np.array([self._records // 8] * len(MONITORED) + [self._records // 2])
        rates = np.array([FAVOURABLE[0]] * len(MONITORED) + [FAVOURABLE[1]])
        for name in NAMES:
            favourable = self._rng.binomial(sizes, rates, (hours, len(sizes))).tolist()
            for place, counts in enumerate(favourable):
                cells = [
                    [label, "reference" if label == REFERENCE else "monitored", count, size]
                    for label, count, size in zip([*MONITORED, REFERENCE], counts, sizes.tolist(), strict=True)
                ]
                yield CountedHour(place=CountedPlace(DataSet.AS_LOGGED, name), hour=span.start + place * HOUR, cells=cells)

    def _draw_records(self) -> Iterator[dict[str, object]]:
        labels = np.array([*MONITORED, REFERENCE])
        for _ in range(self._records):
            row = dict(zip(NAMES, self._rng.choice(labels, len(NAMES), p=[0.125] * 4 + [0.5]).tolist(), strict=True))
            yield {**row, "prediction": int(self._rng.random() < FAVOURABLE[1])}

    @contextlib.contextmanager
    def _metered(self, timed: Timed) -> Iterator[None]:
        statements = 0

        def count(*_: object) -> None:
            nonlocal statements
            statements += 1

        event.listen(self._database.engine, "before_cursor_execute", count)
        began, used = time.perf_counter(), self._processor_seconds()
        yield
        timed.wall.append(time.perf_counter() - began)
        timed.processor.append(self._processor_seconds() - used)
        timed.statements.append(statements)
        event.remove(self._database.engine, "before_cursor_execute", count)

    def _processor_seconds(self) -> float:
        return time.process_time() + postgres_seconds(self._postgres)


def report(sides: dict[str, Timed], hours: int) -> int:
    check, update, year = sides["check"], sides["update"], sides["year"]
    checks = Timed([HOURS_OF_A_YEAR * check.median], [HOURS_OF_A_YEAR * check.mean_processor], check.statements)
    print(f"{'':46}{'wall ms':>12}{'processor ms':>14}{'statements':>12}")
    for name, timed in (
        ("check of an hour", check),
        ("evidence of an hour, 100 comparisons", update),
        ("evidence when nothing is new", sides["idle"]),
        ("the same after a restart", sides["restarted"]),
        (f"{hours:,} hours computed from their counts", year),
        (f"checks of {HOURS_OF_A_YEAR:,} hours, from those above", checks),
    ):
        print(f"{name:46}{timed.median * 1000:12,.1f}{timed.mean_processor * 1000:14,.1f}{statistics.median(timed.statements):12,.0f}")
    print(f"evidence / check of an hour: {update.mean_processor / check.mean_processor:.2f} (wall {update.median / check.median:.2f})")
    if hours:
        ratio = year.mean_processor / hours / check.mean_processor
        print(f"an hour of these / its check: {ratio:.3f} (wall {year.median / hours / check.median:.3f})")
    more = statistics.median(sides["restarted"].statements) - statistics.median(sides["idle"].statements)
    lines = [
        Line("evidence: an hour of 100 comparisons, ms of processors", update.mean_processor * 1000, GOAL_MILLISECONDS, is_most=True),
        Line("evidence: statements more after a restart", more, 0, is_most=True),
    ]
    # First blocks take much longer than later ones, so fewer hours say nothing about a year.
    if hours >= HOURS_OF_A_YEAR:
        name = "evidence: a year computed again, s of processors"
        lines.append(Line(name, year.mean_processor, GOAL_YEAR_SECONDS, is_most=True))
    return 0 if show_lines(lines) else 1


if __name__ == "__main__":
    main()
