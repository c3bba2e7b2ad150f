"""Routes of measurements: as measured, and rolled up over days, weeks and months."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from ..access.gate.caller import SessionIn
from ..base.errors import Conflict, InvalidInput
from ..checks.counting.left_out_of_check import LEFT_OUT
from ..checks.counting.tabulate import LOGGED_AS, find_table_data
from ..checks.days.measurement_queries import Point, SeriesFilter, read_summed_tables
from ..checks.days.roll_up import Period, RolledUp, roll_up
from ..checks.queries import get_check
from ..checks.result_queries import read_window_members
from ..checks.routes import CheckId
from ..checks.views.measurement_bodies import (
    RECORDS_MEANING,
    CheckMeasurementPage,
    MeasurementPage,
    SeriesMeasurementOut,
)
from ..deployments.deployment_in_address import ReadableDeployment
from ..deployments.mitigation_queries import read_mitigation_settings
from ..deployments.monitor.queries import find_monitor
from ..domain.check import DataSet, Scope
from ..domain.deployment import Deployment
from ..domain.monitor_rules import describe_unknown_metric
from ..evidence.bodies import ComparisonEvidenceOut
from ..evidence.present_state import read_deployment_evidence
from ..statistics.catalogue import CATALOGUE
from ..web.route_declarations import CONFLICT, FilterText, NumberPaging, OptionalMoment, cut, in_utc
from .series import MAX_TABLES, read_points


class SeriesPage(MeasurementPage):
    """Measurements, oldest first, and the evidence on their figures."""

    records: list[dict[str, Any]] = Field(
        description="Of each check of the page, or period of a roll-up (`at`), each data set and attribute: "
        f"`check_id`, `at`, `data`, `attribute` and these. {RECORDS_MEANING}"
    )
    evidence: list[ComparisonEvidenceOut]
    """Evidence on the figures that the filter allows, as `…/evidence` has it. Empty without `metric`, for
    metrics without evidence, and on every page but the first."""


router = APIRouter(prefix="/v1/deployments/{deployment_id}/measurements", tags=["measurements"])
check_router = APIRouter(prefix="/v1/deployments/{deployment_id}/checks", tags=["checks"])

MAX_METRICS = 100

CountedRecordsJson = Mapping[str, Any] | None

MetricKey = Annotated[str, Field(max_length=100, examples=["disparate_impact"])]


def require_metric(metric: str, data: DataSet | None) -> None:
    if metric not in CATALOGUE:
        raise InvalidInput("metric", describe_unknown_metric(metric, CATALOGUE))
    data_sets = CATALOGUE[metric].data
    if data is not None and data.value not in data_sets:
        raise InvalidInput("data", f"{data} data have no {metric}; it is measured on {', '.join(data_sets)}")


def read_filter(
    *,
    metric: Annotated[
        list[MetricKey] | None, Query(max_length=MAX_METRICS, description="Given once for each metric.")
    ] = None,
    data: DataSet | None = None,
    scope: Scope | None = None,
    attribute: FilterText = None,
    group: FilterText = None,
) -> SeriesFilter:
    metrics = tuple(metric or ())
    for key in metrics:
        require_metric(key, data)
    computed = next((key for key in metrics if not CATALOGUE[key].is_stored), None)
    if computed is not None and len(metrics) > 1:
        raise InvalidInput("metric", f"{computed} is measured when somebody asks for it; ask for it alone")
    return SeriesFilter(metrics=metrics, data=data, scope=scope, attribute=attribute, group=group)


FigureFilterIn = Annotated[SeriesFilter, Depends(read_filter)]


def read_series_filter(
    filters: FigureFilterIn, since: OptionalMoment = None, until: OptionalMoment = None
) -> SeriesFilter:
    return replace(filters, since=in_utc("since", since), until=in_utc("until", until))


SeriesFilterIn = Annotated[SeriesFilter, Depends(read_series_filter)]


@router.get("", responses=CONFLICT)
def list_measurements(
    deployment: ReadableDeployment,
    session: SessionIn,
    filters: SeriesFilterIn,
    paging: NumberPaging,
    rollup: Annotated[
        Period | None,
        Query(description="Sum up checked hours by day, week or month (UTC), from their stored counts."),
    ] = None,
) -> SeriesPage:
    """Returns measurements oldest first, `since` <= `at` < `until`; `value` is null with its `reason` where
    undefined.

    A roll-up is computed again from the count tables of the hours, so its intervals are right too. It takes
    one check per hour (the newest) and leaves out records that were added from earlier hours: nothing is
    counted twice. It leaves out hours that were counted under other favourable outcomes than the monitor's
    present ones, and metrics that read the records themselves.

    Of mitigated data, checks store rates, disparate impact and accuracy; any other `metric` is measured from
    their count tables, under the monitor's present limits, when it is asked for.

    With one `metric`, the first page also has the evidence over time on its figures: since when one is
    unfair, and all alarms so far.
    """
    evidence = [] if paging.after else _read_evidence(session, deployment, filters)
    next_cursor = None
    if rollup is None:
        points, next_cursor = cut(read_points(session, deployment.no, filters, paging), paging)
        measurements = [
            SeriesMeasurementOut.of(point.measurement, check_id=point.check_id) for point in points
        ]
        records_json = _read_records_of_checks(session, points)
    else:
        results = _roll_up_series(session, deployment, filters, rollup)
        measurements = [SeriesMeasurementOut.of(result.measurement, hours=result.hours) for result in results]
        records_json = _list_records_of_periods(results)
    records = _list_records(measurements, records_json)
    return SeriesPage(measurements=measurements, records=records, evidence=evidence, next_cursor=next_cursor)


def _read_evidence(
    session: SessionIn, deployment: Deployment, filters: SeriesFilter
) -> list[ComparisonEvidenceOut]:
    """Empty for several metrics, and for scopes other than groups."""
    if len(filters.metrics) != 1 or filters.scope not in {None, Scope.GROUP}:
        return []
    evidence = read_deployment_evidence(session, deployment.no)
    if evidence is None:
        return []
    return [
        ComparisonEvidenceOut.of(comparison, evidence.monitor)
        for comparison in evidence.comparisons
        if comparison.figure_id is not None
        and comparison.metric == filters.metrics[0]
        and filters.data in {None, comparison.data}
        and filters.attribute in {None, comparison.attribute}
        and filters.group in {None, comparison.group}
    ]


def _read_records_of_checks(session: SessionIn, points: Sequence[Point]) -> list[CountedRecordsJson]:
    windows = read_window_members(session, {point.check_id for point in points}, LEFT_OUT)
    return [
        windows[point.check_id].get(point.measurement.data, {}).get(point.measurement.attribute)
        for point in points
    ]


def _list_records_of_periods(results: Sequence[RolledUp]) -> list[CountedRecordsJson]:
    # Many figures share the records of one period.
    json_by_id = {
        id(result.records): result.records.to_json() for result in results if result.records is not None
    }
    return [json_by_id.get(id(result.records)) for result in results]


def _list_records(
    measurements: Sequence[SeriesMeasurementOut], records_json: Sequence[CountedRecordsJson]
) -> list[dict[str, Any]]:
    """Each set of records once, with the check or period, data and attribute that it is of."""
    by_origin = {}
    for measurement, records in zip(measurements, records_json, strict=True):
        if records is not None:
            origin = {
                "check_id": measurement.check_id,
                "at": measurement.at,
                "data": measurement.data,
                "attribute": measurement.attribute,
            }
            by_origin[tuple(origin.values())] = origin | dict(records)
    return list(by_origin.values())


def _roll_up_series(
    session: SessionIn, deployment: Deployment, filters: SeriesFilter, period: Period
) -> list[RolledUp]:
    monitor = find_monitor(session, deployment.no)
    if monitor is None:
        raise Conflict(
            f"Deployment {deployment.id} has no fairness monitor, with whose limits a roll-up is compared; "
            "set one first."
        )
    # Figures of several data sets are computed from the tables of one.
    table_filter = replace(filters, data=None if filters.data is None else find_table_data(filters.data))
    table_filters = [table_filter]
    if table_filter.data in LOGGED_AS:
        # The tables as logged say which records the figures leave out.
        table_filters.append(replace(filters, data=LOGGED_AS[table_filter.data]))
    tables = [
        table
        for tables_of_data in table_filters
        for table in read_summed_tables(
            session, deployment.no, tables_of_data, outcomes=monitor.outcomes, limit=MAX_TABLES + 1
        )
    ]
    if sum(table.hours for table in tables) > MAX_TABLES:
        raise InvalidInput(
            "since",
            f"leaves more than {MAX_TABLES} hourly tables to add up; narrow since, until, data or attribute",
        )
    settings = read_mitigation_settings(session, deployment.no)
    return [
        result for result in roll_up(tables, period, monitor, settings) if filters.accepts(result.measurement)
    ]


@check_router.get("/{check_id}/measurements")
def list_check_measurements(
    deployment: ReadableDeployment,
    check_id: CheckId,
    session: SessionIn,
    filters: FigureFilterIn,
    paging: NumberPaging,
) -> CheckMeasurementPage:
    """Returns the measurements of a check in the order in which they were measured; none while it has not
    succeeded.

    Of mitigated data, a `metric` that checks do not store is measured now.
    """
    check = get_check(session, deployment.no, check_id)
    # No measurement of the check is earlier: checks that ended before it need not be read.
    filters = replace(filters, check_no=check.no, since=check.span.end)
    return CheckMeasurementPage.of(
        read_points(session, deployment.no, filters, paging), paging, attrgetter("measurement")
    )
