"""Sections of a check's views in the annex of its report."""

from dataclasses import replace
from datetime import UTC, datetime

from app.checks.views.view_shapes import Change, CheckView, ViewKind
from app.domain.check import CheckRun, CheckState, Measurement, Span, Trigger
from app.reports.document import ReportTable
from app.reports.sections.view_sections import write_view_sections
from tests.builders.chart_data import group, measurement, view

SPAN = Span(start=datetime(2026, 3, 2, 11, tzinfo=UTC), end=datetime(2026, 3, 2, 12, tzinfo=UTC))
CHECK = CheckRun(
    no=1,
    id="check-1",
    deployment_no=1,
    deployment_id="credit",
    trigger=Trigger.REQUEST,
    state=CheckState.SUCCEEDED,
    span=SPAN,
    attempts=1,
    lease_token=None,
    progress=None,
    reason=None,
    window={},
    created_at=SPAN.end,
    started_at=SPAN.end,
    finished_at=SPAN.end,
    next_attempt_at=None,
)


def figure(metric: str, value: float, lower: float | None, upper: float | None) -> Measurement:
    return replace(measurement(value), metric=metric, lower=lower, upper=upper)


def test_accuracies_before_and_after_are_shares_and_their_change_is_in_points() -> None:
    bounded = Change(
        before=figure("accuracy_before", 0.75, 0.5, 0.9),
        after=figure("accuracy_after", 0.735, 0.5, 0.9),
        change=figure("accuracy_change", -0.015, -0.02, 0.004),
    )
    unbounded = replace(
        bounded, before=figure("balanced_accuracy_before", 0.5, 0.25, 0.75), change=figure("accuracy_change", 0.0, None, None)
    )
    unknown = replace(bounded, change=replace(bounded.change or bounded.before, value=None, reason="no record has a label"))
    attribute = replace(view(group("female", 1, 4)), accuracy=(bounded, unbounded, unknown))

    sections = list(write_view_sections(CheckView(kind=ViewKind.MITIGATED, check=CHECK, counted_span=SPAN, attributes=(attribute,))))

    [table] = [block for block in sections[-1].blocks if isinstance(block, ReportTable) and block.caption.startswith("Accuracy")]
    assert table.columns[-2:] == ("Change, in points", "95 %")
    assert [row[2] for row in table.rows] == ["75.00 %", "50.00 %", "75.00 %"]
    assert [row[-2:] for row in table.rows] == [("−1.50", "−2.00 to +0.40"), ("0.00", "–"), ("none: no record has a label", "–")]
