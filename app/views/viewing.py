"""Which views a check has, and each of them. What a view says is in the file of its name beside this one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.checks import CheckRun, CheckState, DataSet
from app.domain.deployments import Deployment
from app.views.check_source import CheckSource, Standing, source_of, standing_of
from app.views.check_views import AttributeView, CheckOfView, CheckView, ViewKind, ViewState
from app.views.debiased_view import (
    BALANCED_AFTER,
    BALANCED_BEFORE,
    IMPACT_AFTER,
    IMPACT_BEFORE,
    QUALITY,
    RATE_AFTER,
    RATE_BEFORE,
    balanced_attributes,
    debiased_attributes,
    mode_of,
    notes_on_mitigation,
    why_not_debiased,
)
from app.views.payload_view import (
    EQUALITY,
    IMPACT,
    OPENSCALE,
    RATE,
    notes_on_copies,
    payload_attributes,
    perturbed_attributes,
    why_not_perturbed,
)
from app.views.training_view import training_view, why_no_training

CARRIED = (
    "Nothing was logged since, and the records and labels that were read are still the same;"
    " the figures are those of check {check_id}, carried forward."
)

_NEEDED: Mapping[ViewKind, tuple[Sequence[DataSet], frozenset[str]]] = {
    ViewKind.PAYLOAD_PERTURBED: ((DataSet.PAYLOAD, DataSet.BALANCED), frozenset({RATE, IMPACT, EQUALITY, OPENSCALE})),
    ViewKind.PAYLOAD: ((DataSet.PAYLOAD,), frozenset({RATE, IMPACT})),
    ViewKind.DEBIASED: (
        (DataSet.PAYLOAD, DataSet.BALANCED, DataSet.DEBIASED),
        frozenset({RATE, IMPACT, RATE_BEFORE, RATE_AFTER, IMPACT_BEFORE, IMPACT_AFTER, BALANCED_BEFORE, BALANCED_AFTER})
        | {name for names in QUALITY for name in names},
    ),
}
"""The tables and the measurements that are read for each view of logged records."""

_NOT_OVER = {
    CheckState.QUEUED: "The check waits for a worker; it has no figures yet.",
    CheckState.RUNNING: "The check is running; it has no figures yet.",
}
_ENDED_WITHOUT = {
    CheckState.FAILED: "The check failed",
    CheckState.INSUFFICIENT_DATA: "The check had too few records",
    CheckState.CANCELLED: "The check was cancelled",
}


def views_of(session: Session, deployment: Deployment, check: CheckRun) -> tuple[ViewState, ...]:
    """Each kind of view, and why the check does not have it where it does not."""
    standing = standing_of(session, check)
    reasons = {kind: _why_not(standing, kind) for kind in _NEEDED} | {ViewKind.TRAINING: why_no_training(session, deployment.no)}
    return tuple(ViewState(kind=kind, reason=reasons[kind]) for kind in ViewKind)


def check_view(session: Session, deployment: Deployment, check: CheckRun, kind: ViewKind) -> CheckView:
    """One view of a check of the deployment; with the reason, and no figures, where there is none."""
    standing = standing_of(session, check)
    view = CheckView(kind=kind, check=_check(standing))
    if kind is ViewKind.TRAINING:
        return _of_training(session, deployment, view, check)
    view = _with_window(view, standing)
    reason = _why_not(standing, kind)
    if reason is not None:
        return replace(view, reason=reason)
    data, metrics = _NEEDED[kind]
    return _of_records(view, source_of(session, standing, data=data, metrics=metrics))


def _why_not(standing: Standing, kind: ViewKind) -> str | None:
    check = standing.check
    if check.state in _NOT_OVER:
        return _NOT_OVER[check.state]
    if check.state in _ENDED_WITHOUT:
        return f"{_ENDED_WITHOUT[check.state]}: {check.reason or 'no reason is known'}"
    if kind is ViewKind.PAYLOAD:
        return None
    return why_not_perturbed(standing) if kind is ViewKind.PAYLOAD_PERTURBED else why_not_debiased(standing)


def _of_records(view: CheckView, source: CheckSource) -> CheckView:
    notes: tuple[str, ...] = () if view.check.carried_from is None else (CARRIED.format(check_id=view.check.carried_from),)
    balanced: tuple[AttributeView, ...] = ()
    mode: str | None = None
    match view.kind:
        case ViewKind.PAYLOAD_PERTURBED:
            attributes = perturbed_attributes(source)
            notes += notes_on_copies(source, attributes)
        case ViewKind.DEBIASED:
            attributes, balanced, mode = debiased_attributes(source), balanced_attributes(source), mode_of(source)
            notes += notes_on_mitigation(source) + notes_on_copies(source, balanced)
        case _:
            attributes = payload_attributes(source)
    return replace(view, attributes=attributes, balanced=balanced, mitigation_mode=mode, notes=notes)


def _of_training(session: Session, deployment: Deployment, view: CheckView, check: CheckRun) -> CheckView:
    found = training_view(session, deployment, check)
    if isinstance(found, str):
        return replace(view, reason=found)
    return replace(
        view,
        attributes=found.attributes,
        records=found.records,
        unclassified_records=found.unclassified,
        processed_at=found.processed_at,
        notes=found.notes,
    )


def _check(standing: Standing) -> CheckOfView:
    check, counted = standing.check, standing.counted
    return CheckOfView(
        id=check.id,
        deployment_id=check.deployment_id,
        state=check.state,
        span=check.span,
        monitor_version=check.monitor_version,
        model_revision=check.model_revision,
        carried_from=None if counted.no == check.no else counted.id,
        counted_span=counted.span,
    )


def _with_window(view: CheckView, standing: Standing) -> CheckView:
    window = standing.window
    return replace(
        view,
        records=window.get("records"),
        additional_records=window.get("additional_records"),
        logged_in_span=window.get("logged_in_span"),
        unclassified_records=window.get("unclassified_records"),
        oldest=_moment(window, "oldest_record_at"),
        newest=_moment(window, "newest_record_at"),
    )


def _moment(window: Mapping[str, Any], name: str) -> datetime | None:
    text = window.get(name)
    return None if text is None else datetime.fromisoformat(text)
