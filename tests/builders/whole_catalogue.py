"""Which rows a metric has on a table: one for each of its scopes and groups, whatever the records are."""

from collections.abc import Iterable, Sequence

from app.statistics.catalogue import CATALOGUE, Data, Metric, list_metrics_on
from app.statistics.catalogue.metric import PairFigure
from app.statistics.group_labels import ComparedGroup

Row = tuple[str, str, str | None]
"""Metric, scope, group."""


def rows_of(metric: Metric, data: Data, groups: Sequence[ComparedGroup]) -> set[Row]:
    """Every row that the metric has on the data of those groups, of which one is monitored at least; pairs furthest apart left out."""
    compares = "worst" in metric.scopes or isinstance(metric.measure, PairFigure)
    each = {(metric.key, "group", group.label) for group in groups if not compares or group.role == "monitored"}
    scopes, roles = metric.list_scopes_on(data), [group.role for group in groups]
    left_out = {"group", "worst", "worst_pair"}
    if "group" in scopes:
        left_out |= {scope for scope, role in (("pooled", "monitored"), ("reference", "reference")) if roles.count(role) == 1}
    return {(metric.key, scope, None) for scope in scopes if scope not in left_out} | (each if "group" in scopes else set())


def every_row(data: Data, groups: Sequence[ComparedGroup], keys: Iterable[str] | None = None) -> set[Row]:
    """Every row of the data set, or of some of its metrics."""
    chosen = CATALOGUE.keys() if keys is None else set(keys)
    return {row for metric in list_metrics_on(data) if metric.key in chosen for row in rows_of(metric, data, groups)}
