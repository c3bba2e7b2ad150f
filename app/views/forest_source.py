"""Forest of one check, as it was."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from ..domain.checks import CheckRun, Measurement
from ..store.checks.recent import RecentCheck, recent_checks, recent_figures
from ..store.deployments.monitors import monitor_of
from ..tracking.looking import DeploymentEvidence, look_at_evidence
from .check_source import counted_check
from .forest import STRIP_CHECKS, Forest, ForestSource, build_forest, choose_metric


def forest_of_check(session: Session, check: CheckRun, measured: Sequence[Measurement]) -> Forest:
    """The check succeeded; the verdicts of those before it are included."""
    no, checks, metric = check.deployment_no, checks_up_to(session, check), choose_metric(measured)
    source = ForestSource(
        monitor=monitor_of(session, no),
        evidence=evidence_before(look_at_evidence(session, no), check.span.end),
        checks=checks,
        measured=measured,
        recent=recent_figures(session, no, metric, checks),
    )
    # Judged from the end of the check: it does not become stale.
    return build_forest(source, metric=metric, now=check.span.end)


def evidence_before(evidence: DeploymentEvidence | None, end: datetime) -> DeploymentEvidence | None:
    """States that began before that moment."""
    return evidence and replace(evidence, comparisons=[one for one in evidence.comparisons if one.since is None or one.since < end])


def checks_up_to(session: Session, check: CheckRun) -> list[RecentCheck]:
    """The check and those before it, newest first."""
    counted, window = counted_check(session, check), check.window or {}
    own = RecentCheck(
        no=check.no,
        id=check.id,
        at=check.span.end,
        measured_at=counted.origin.span.end,
        carried_forward=check.carried_from is not None,
        monitor_version=check.monitor_version,
        unseen={name: window[name] for name in ("correlated_features", "attributes_unseen_by_model") if name in window},
        is_topped_up=bool(window.get("additional_records")),
    )
    before = recent_checks(session, check.deployment_no, most=STRIP_CHECKS, until=check.span.end)
    return [own, *(one for one in before if one.at < own.at)][:STRIP_CHECKS]
