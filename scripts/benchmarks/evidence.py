"""Times the evidence of a deployment with 100 comparisons next to the checks that it belongs to, in one run.

A year of hourly counts is put into its own Postgres (fsync on), and the states of all comparisons are computed from it; then hour after
hour is logged, checked and its evidence updated, without an endpoint. Goals, in processor time with that of Postgres: 50 ms an hour, and a
year within 40 s.
"""

import statistics
import sys
from collections.abc import Iterator
from datetime import datetime

import numpy as np
import psycopg

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
from scripts.benchmarks.service import count_statements, find_postgres, time_processors
from scripts.benchmarks.staging import columns_of, own_database
from tests.scenes import HOUR, NOON, scene

GOAL_MILLISECONDS = 50
GOAL_YEAR_SECONDS = 40
HOURS_OF_A_YEAR = 8_760
NAMES = [f"column_{position}" for position in range(5)]
MONITORED = [f"group_{position}" for position in range(4)]
"""Their groups together are one more comparison."""
REFERENCE = "reference"
FAVOURABLE = (0.46, 0.5)


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
        lines = bench.run(options.rounds, options.hours)
    sys.exit(0 if show_lines(lines) else 1)


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
        self._stage = scene(
            database,
            columns_of(dict.fromkeys(NAMES, FieldType.STRING)),
            Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=attributes),
            endpoint=None,
            probability=None,
        )
        self._records = records
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

    def run(self, rounds: int, hours: int) -> list[Line]:
        postgres = find_postgres(self._database.url)
        year = time_processors(postgres, lambda: self._update(NOON))
        checks, updates = [], []
        for hour in (NOON + number * HOUR for number in range(rounds + 1)):
            self._stage.log(self._draw_records(), hour)
            checks.append(time_processors(postgres, lambda hour=hour: self._stage.check(hour)))  # type: ignore[misc]
            updates.append(time_processors(postgres, lambda hour=hour: self._update(hour + HOUR)))  # type: ignore[misc]
        until = NOON + (rounds + 1) * HOUR
        idle = count_statements(lambda: self._update(until))
        self._database.close()
        self._database = Database(self._database.url)
        with self._database.transaction() as session:
            session.connection()
        restarted = count_statements(lambda: self._update(until))
        self._database.close()
        # Means without the first: Postgres' processor time is counted in steps of 10 ms, so single ones say little.
        check, update = (1000 * statistics.mean(seconds[1:]) for seconds in (checks, updates))
        print(f"ms of processors: check of an hour {check:.1f}, its evidence {update:.1f}, {hours:,} hours from counts {1000 * year:,.1f}")
        lines = [
            Line("evidence: an hour of 100 comparisons, ms of processors", update, GOAL_MILLISECONDS, is_most=True),
            Line("evidence: statements more after a restart", restarted - idle, 0, is_most=True),
        ]
        # First blocks take much longer than later ones, so fewer hours say nothing about a year.
        if hours >= HOURS_OF_A_YEAR:
            lines.append(Line("evidence: a year computed again, s of processors", year, GOAL_YEAR_SECONDS, is_most=True))
        return lines

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


if __name__ == "__main__":
    main()
