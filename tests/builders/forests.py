"""Forests that are not stored anywhere: figures of groups, the last checks, the evidence."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.base.values import Range
from app.charts.forest import STRIP_CHECKS, Forest, build_forest, choose_metric
from app.checks.result_queries import RecentCheck, RecentFigure, RecentFigures, read_measurements, read_recent_figures
from app.deployments.monitor.queries import find_monitor
from app.domain.check import DataSet, Details, Measurement, Scope
from app.domain.monitor import Comparison, DisplayNames, GroupName, Monitor, MonitoredAttribute, OutcomeRule
from app.evidence.present_state import ComparisonState, read_deployment_evidence
from tests.builders.comparison_states import evidence_of

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
NAMES = DisplayNames(
    favourable="rated No Risk",
    groups=(
        GroupName(feature="sex", group="female", name="women"),
        GroupName(feature="sex", group="male", name="men"),
        GroupName(feature="age", group="18-25", name="under 26"),
        GroupName(feature="age", group="26-75", name="over 25"),
    ),
)
MONITOR = Monitor(
    outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
    attributes=(
        MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),
        MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),)),
    ),
    intersections=(("sex", "age"),),
)
NAMED = replace(MONITOR, names=NAMES)


def figure_of(value: float | None = 0.26, verdict: str | None = "unfair", **more: Any) -> Measurement:  # noqa: ANN401 - members of a measurement
    """The disparate impact of women as logged: 13 of 50, of men 100 of 100, unless `value` says otherwise."""
    monitored, reference = more.pop("counts", ((13, 50), (100, 100)))
    is_counterfactual = more.get("data") is DataSet.COUNTERFACTUAL
    own = [{"own_n": whole} if is_counterfactual else {} for _, whole in (monitored, reference)]
    pairs = more.pop("pairs", None)
    group, other = more.pop("group", "female"), more.pop("reference", "male")
    values: dict[str, Any] = {
        "metric": "disparate_impact",
        "data": DataSet.AS_LOGGED,
        "scope": Scope.GROUP,
        "comparison": Comparison.from_label(more.pop("attribute", "sex")),
        "group": group,
        "at": NOW,
        "value": value,
        "reason": None,
        "lower": 0.15 if value is None else min(0.15, value),
        "upper": 0.46 if value is None else max(0.46, value),
        "interval_method": "log_ratio",
        "n": monitored[1] + reference[1],
        "verdict": verdict,
        "lower_limit": 0.8,
        "upper_limit": 1.25,
        "details": Details(
            monitored=group,
            reference=other,
            counts={} if pairs is None else pairs.to_counts(),
            monitored_counts={"favourable": monitored[0], "n": monitored[1], **own[0]},
            reference_counts={"favourable": reference[0], "n": reference[1], **own[1]},
            shortfall=more.pop("shortfall", 28.2),
        ),
    }
    return Measurement(**values | more)


def checks_of(many: int, **more: Any) -> list[RecentCheck]:  # noqa: ANN401 - members of a check
    """That many hourly checks, the newest first; number 1 is the newest."""
    plain: dict[str, Any] = {"carried_forward": False, "monitor_version": 1, "unseen": {}}
    ends = [NOW - timedelta(hours=no) for no in range(many)]
    return [RecentCheck(**{"no": no, "id": f"check-{no}", "at": at, "measured_at": at} | plain | more) for no, at in enumerate(ends, 1)]


def recent_of(figure: Measurement, verdicts: Sequence[str | None]) -> list[RecentFigure]:
    """The figure in the last checks with these verdicts, the oldest first."""
    return [
        RecentFigure(
            check_no=len(verdicts) - place,
            data=figure.data,
            attribute=str(figure.attribute),
            group=str(figure.group),
            value=figure.value,
            verdict=verdict,
            carried_forward=False,
            definition=1,
        )
        for place, verdict in enumerate(verdicts)
    ]


def forest_of(*figures: Measurement, **more: Any) -> Forest:  # noqa: ANN401 - members of the source
    """The forest of these figures, each with one verdict for each check; `states` are its evidence."""
    checks = more.pop("checks", None)
    checks = checks_of(1) if checks is None else checks
    states: Sequence[ComparisonState] = more.pop("states", ())
    metric, now = more.pop("metric", "disparate_impact"), more.pop("now", NOW)
    recent = more.pop("recent", [point for figure in figures for point in recent_of(figure, [figure.verdict] * len(checks))])
    values = {"monitor": MONITOR, "evidence": evidence_of(*states)} | more
    return build_forest(RecentFigures(checks, recent), figures, metric=metric, now=now, **values)


def read_forest(session: Session, deployment_no: int, *, now: datetime, metric: str | None = None) -> Forest:
    """Returns the forest of the newest check, of that metric or else of the one that the deployment is judged by."""
    checks = read_recent_figures(session, deployment_no, "", limit=STRIP_CHECKS).checks
    measured = read_measurements(session, checks[0].no) if checks else []
    chosen = metric or choose_metric(measured)
    recent = read_recent_figures(session, deployment_no, chosen, limit=STRIP_CHECKS)
    return build_forest(
        recent,
        measured,
        monitor=find_monitor(session, deployment_no),
        evidence=read_deployment_evidence(session, deployment_no),
        metric=chosen,
        now=now,
    )
