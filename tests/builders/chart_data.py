"""Series and views made up for charts."""

from datetime import UTC, datetime, timedelta

from app.charts.series import Gap, GroupSeries, Series, SeriesPoint
from app.checks.views.view_shapes import AttributeView, GroupShare, Outcomes, SubRange
from app.domain.check import CheckState, DataSet, Measurement, Scope
from app.domain.groups import Role
from app.domain.monitor import Comparison

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOSTILE = ("<script>alert(1)</script>", "a\"b'c & d", "=1+1", "العربية", "東京 😀", "x" * 300, "  ", "datum.v", "#eval(1) $x$ @a \\")


def point(hour: float, value: float | None, **more: object) -> SeriesPoint:
    """A point of an ordinary check."""
    given: dict[str, object] = {
        "at": START + hour * HOUR,
        "value": value,
        "lower": None if value is None else value - 0.1,
        "upper": None if value is None else value + 0.1,
        "n": 100,
        "verdict": "not_computable" if value is None else "fair",
        "reason": "no record of female was classified" if value is None else None,
        "carried_forward": False,
        "lower_limit": 0.8,
        "check_id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11",
    }
    return SeriesPoint(**{**given, **more})  # type: ignore[arg-type]


def series(*groups: tuple[str | None, list[SeriesPoint]], metric: str = "disparate_impact", gaps: int = 0, **more: object) -> Series:
    """A series of those groups."""
    given: dict[str, object] = {
        "metric": metric,
        "data": DataSet.AS_LOGGED,
        "attribute": "sex",
        "rollup": None,
        "groups": tuple(
            GroupSeries(group=name, scope=Scope.REFERENCE if name is None else Scope.GROUP, points=tuple(points)) for name, points in groups
        ),
        "gaps": tuple(Gap(at=START + hour * HOUR, state=CheckState.FAILED, reason="the endpoint did not answer") for hour in range(gaps)),
    }
    return Series(**{**given, **more})  # type: ignore[arg-type]


def measurement(value: float | None) -> Measurement:
    """A measured share."""
    return Measurement(
        metric="favourable_rate",
        data=DataSet.AS_LOGGED,
        scope=Scope.GROUP,
        comparison=Comparison(("sex",)),
        group="female",
        at=START,
        value=value,
        reason="there is none" if value is None else None,
        lower=value,
        upper=value,
        interval_method="wilson",
        n=1,
        verdict=None,
        lower_limit=None,
        upper_limit=None,
    )


def outcomes(favourable: int, unfavourable: int) -> Outcomes:
    """The outcomes of a group."""
    records = favourable + unfavourable
    has_records = records > 0
    return Outcomes(
        favourable=favourable,
        unfavourable=unfavourable,
        records=records,
        share=favourable / records if has_records else None,
        lower=0.0 if has_records else None,
        upper=1.0 if has_records else None,
        interval_method="wilson" if has_records else None,
        reason=None if has_records else "no record was classified",
        figure=measurement(favourable / records if has_records else None),
    )


def group(
    name: str, favourable: int, unfavourable: int, *, role: Role = "monitored", after: Outcomes | None = None, ranges: int = 0
) -> GroupShare:
    """One group of a view."""
    return GroupShare(
        group=name,
        role=role,
        outcomes=outcomes(favourable, unfavourable),
        after=after,
        original_records=favourable + unfavourable,
        unclassified=0,
        comparison=None,
        sub_ranges=tuple(
            SubRange(label=f"{no}-{no}", favourable=1, unfavourable=1, unclassified=0, share=0.5, lower=0.1, upper=0.9, reason=None)
            for no in range(ranges)
        ),
    )


def view(*groups: GroupShare, equality: float | None = None) -> AttributeView:
    """A view of the attribute `sex`."""
    figure = None if equality is None else measurement(equality)
    return AttributeView(comparison=Comparison(("sex",)), groups=groups, perfect_equality=figure)
