"""Times the overview, the deployment page and the transactions, over HTTP and as functions, at the size they are designed for.

Rows are written by plain SQL: `deployments` with `days` of hourly checks of 72 measurements each, one of them with a whole year and a month
of payload records. Goals, in processor time of all processes and Postgres: under 200 ms a request, 90 ms the overview, 60 ms the page of a
deployment; under 50 ms for the panels over a year of hourly points; series of a year by day and by month at most half of what they cost
from the tables of all hours.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import psutil
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.access.keys.queries import create_key
from app.access.principals import Role
from app.base.clock import utc_now
from app.charts.series import SeriesQuery, build_series, count_volume
from app.charts.time_ranges import EarlierKind, RangeChoice, RangePreset
from app.charts.timeline import choose_range, read_timeline
from app.checks.days.day_queries import FigureSelection
from app.checks.days.roll_up import Period
from app.database.engine import Database
from app.domain.check import DataSet
from app.domain.groups import GroupWords
from app.pages.deployment.over_time import TimelineChart, build_chart
from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.service import Caller, count_statements, measure_calls, service
from scripts.benchmarks.staging import own_database
from tests.builders.fleets import fill_fleet

GOAL_MILLISECONDS = 200
GOAL_OF_A_YEAR = 50
GOAL_OF_PAGES = {"page: overview, a fleet": 90, "page: a deployment": 60}


Question = tuple[str, Callable[[], object]]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--deployments", type=int, default=500)
    parser.add_argument("--days", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    with own_database() as (database, folder):
        fill_fleet(database, deployments=options.deployments, days=options.days)
        gc.freeze()
        lines = [_time_panels(database, options.rounds, earlier) for earlier in (None, EarlierKind.PERIOD)]
        with service(database.url, folder) as port:
            questions = {**dict(_requests(database, port)), **dict(_views(database))}
            rows = {name: measure_calls(database, ask, options.rounds) for name, ask in questions.items()}
            lines += _compare_days(database, options.rounds)
    print(f"{'':62}{'processor ms':>13}{'median ms':>10}{'slowest':>10}")
    slowest = max(rows, key=lambda name: rows[name].processor)
    for name, row in rows.items():
        print(f"{name:62}{row.processor:13.1f}{row.median:10.1f}{row.slowest:10.1f}")
        goal = GOAL_OF_PAGES.get(name.removeprefix("GET "), GOAL_MILLISECONDS)
        if "year" in name or name == slowest or goal != GOAL_MILLISECONDS:
            note = ", slowest" if name == slowest else ""
            lines.append(Line(f"pages: ms of processors{note}: {name}", row.processor, goal, is_most=True))
    sys.exit(0 if show_lines(lines) else 1)


def _requests(database: Database, port: int) -> Iterator[Question]:
    with database.transaction() as session:
        key = create_key(session, role=Role.READ, name="bench")
        newest = session.scalar(text("SELECT id FROM checks WHERE deployment_no = 1 AND state = 'succeeded' ORDER BY no DESC LIMIT 1"))
    caller = Caller(port, key)
    records = "/v1/deployments/model-1/payload-records"

    def question(name: str, path: str) -> Question:
        return f"GET {name}", lambda: caller.read(path)

    yield question("page: overview, a fleet", "/")
    yield question("page: a deployment", "/deployments/model-1")
    yield question("page: a deployment with a year of hours", "/deployments/model-1?range=year")
    yield question("page: its checks", "/deployments/model-1/checks")
    yield question("page: its newest transactions", "/deployments/model-1/transactions")
    yield question("page: its alerts", "/deployments/model-1/alerts")
    chart = "/v1/deployments/model-1/charts/series.svg?metric=disparate_impact&attribute=age"
    yield question("chart of the last week", f"{chart}&since={(utc_now() - timedelta(days=7)):%Y-%m-%dT%H:00:00Z}")
    yield question("chart of a year of hours", chart)
    yield question("report of its newest check, HTML", f"/v1/deployments/model-1/checks/{newest}/report.html")
    yield question("report of its newest check, PDF", f"/v1/deployments/model-1/checks/{newest}/report.pdf")
    yield question("overview, 200 deployments", "/v1/overview?limit=200")
    yield question("payload records, newest 100", records)
    yield question("payload records of an empty group", f"{records}?attribute=age&group=18-25&outcome=unclassified")
    yield question("payload records, outcome changed", f"{records}?changed=any")
    yield question("payload records, never flagged", f"{records}?mitigated=changed")
    yield question("payload record with counterfactuals", f"{records}/r-77")


def _views(database: Database) -> Iterator[Question]:
    def question(name: str, view: Callable[[Session], object]) -> Question:
        def ask() -> None:
            with database.transaction() as session:
                view(session)

        return name, ask

    wanted = SeriesQuery(metric="disparate_impact", data=DataSet.AS_LOGGED, attribute="age")
    month = replace(wanted, since=utc_now() - timedelta(days=30))
    yield question("series of a year of hours, 2 groups", lambda session: build_series(session, 1, wanted))
    yield question("series of a month of hours, 2 groups", lambda session: build_series(session, 1, month))
    yield question("series of a month, by day", lambda session: build_series(session, 1, replace(month, rollup=Period.DAY)))
    yield question("series of a year, by day", lambda session: build_series(session, 1, replace(wanted, rollup=Period.DAY)))
    yield question("series of a year, by month", lambda session: build_series(session, 1, replace(wanted, rollup=Period.MONTH)))
    yield question("volume of a year of hours", lambda session: count_volume(session, 1, None, None, None))


def _time_panels(database: Database, rounds: int, earlier: EarlierKind | None) -> Line:
    choice = RangeChoice(preset=RangePreset.YEAR, earlier=earlier)
    selection = FigureSelection(metric="disparate_impact", data=DataSet.AS_LOGGED)
    now = utc_now()
    with database.transaction() as session:
        server = psutil.Process(session.scalar(text("SELECT pg_backend_pid()")))

        def draw() -> TimelineChart:
            span = choose_range(choice, oldest=None, now=now).span
            timeline = read_timeline(session, 1, span, selection, words=GroupWords(), compared=earlier)
            return build_chart(timeline, "model-1", choice.zone)

        shown = draw()
        statements = count_statements(draw)
        here, there = time.process_time(), sum(server.cpu_times()[:2])
        for _ in range(rounds):
            draw()
        spent = [1000 * one / rounds for one in (time.process_time() - here, sum(server.cpu_times()[:2]) - there)]
    steps = max(len(panel.panel.steps) for panel in shown.panels)
    figures = sum(panel.panel.figures for panel in shown.panels)
    compared = "" if earlier is None else ", compared with the year before"
    print(
        f"panels over a year{compared}: {figures:,} figures of {len(shown.panels)} groups, at most {steps} steps of each;"
        f" {statements} statements, {spent[0]:.1f} ms of processor time here and {spent[1]:.1f} ms in Postgres"
    )
    return Line(f"pages: panels over a year{compared}, ms of processors", sum(spent), GOAL_OF_A_YEAR, is_most=True)


def _compare_days(database: Database, rounds: int) -> Iterator[Line]:
    """Yields what series cost from days that were added up, as a part of what they cost from the checks themselves."""
    wanted = SeriesQuery(metric="disparate_impact", data=DataSet.AS_LOGGED, attribute="age")
    for period in (Period.DAY, Period.MONTH):
        rolled = replace(wanted, rollup=period)

        def ask(rolled: SeriesQuery = rolled) -> None:
            with database.transaction() as session:
                build_series(session, 1, rolled)

        added = measure_calls(database, ask, rounds)
        with database.transaction() as session:
            session.execute(text("UPDATE check_days SET is_kept = false WHERE deployment_no = 1"))
        counted = measure_calls(database, ask, max(rounds // 5, 3))
        with database.transaction() as session:
            session.execute(text("UPDATE check_days SET is_kept = true WHERE deployment_no = 1 AND topped_up IS NOT NULL"))
        print(f"a year by {period}: {added.processor:.1f} ms from added up days, {counted.processor:.1f} ms from the tables of all hours")
        yield Line(f"pages: a year by {period} from added up days / from all hours", added.processor / counted.processor, 0.5, is_most=True)


if __name__ == "__main__":
    main()
