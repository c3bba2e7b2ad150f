"""Builds the views of a check."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from ...domain.check import CheckRun, CheckState, DataSet
from ...domain.deployment import Deployment
from .missing_notes import notes_on_records
from .payload_view import (
    EQUALITY,
    IMPACT,
    IMPACT_AFTER,
    IMPACT_BEFORE,
    OPENSCALE,
    QUALITY,
    RATE,
    RATE_AFTER,
    RATE_BEFORE,
    balanced_attributes,
    debiased_attributes,
    notes_on_copies,
    notes_on_intervals,
    notes_on_mitigation,
    payload_attributes,
    perturbed_attributes,
    read_mitigation_mode,
    why_not_debiased,
    why_not_perturbed,
)
from .training_view import fill_training_view, why_no_training
from .view_shapes import AttributeView, CheckView, ViewKind, ViewState
from .view_source import CheckSource, CountedCheck, counted_check, read_check_source

CARRIED = (
    "Nothing was logged since, and the records and labels that were read are still the same;"
    " the figures are those of check {check_id}, carried forward."
)

_NEEDED: Mapping[ViewKind, tuple[Sequence[DataSet], frozenset[str]]] = {
    ViewKind.PAYLOAD_PERTURBED: ((DataSet.PAYLOAD, DataSet.BALANCED), frozenset({RATE, IMPACT, EQUALITY, OPENSCALE})),
    ViewKind.PAYLOAD: ((DataSet.PAYLOAD,), frozenset({RATE, IMPACT})),
    ViewKind.DEBIASED: (
        (DataSet.PAYLOAD, DataSet.BALANCED, DataSet.DEBIASED, DataSet.DEBIASED_FEEDBACK),
        frozenset({RATE, IMPACT, RATE_BEFORE, RATE_AFTER, IMPACT_BEFORE, IMPACT_AFTER}) | {name for names in QUALITY for name in names},
    ),
}
"""Tables and measurements of each view of logged records."""

_NOT_OVER = {
    CheckState.QUEUED: "The check waits for a worker; it has no figures yet.",
    CheckState.RUNNING: "The check is running; it has no figures yet.",
}
_ENDED_WITHOUT = {
    CheckState.FAILED: "The check failed",
    CheckState.INSUFFICIENT_DATA: "The check had too few records",
    CheckState.CANCELLED: "The check was cancelled",
}


def list_views(session: Session, deployment: Deployment, check: CheckRun) -> tuple[ViewState, ...]:
    """Kinds of view, with the reason where the check has none."""
    counted = counted_check(session, check)
    reasons = {kind: _why_not(counted, kind, deployment) for kind in _NEEDED} | {ViewKind.TRAINING: why_no_training(session, deployment.no)}
    return tuple(ViewState(kind=kind, reason=reasons[kind]) for kind in ViewKind)


def check_view(session: Session, deployment: Deployment, check: CheckRun, kind: ViewKind) -> CheckView:
    """With the reason, and no figures, where there is none."""
    counted = counted_check(session, check)
    view = CheckView(kind=kind, check=check, counted_span=counted.origin.span)

    if kind is ViewKind.TRAINING:
        return fill_training_view(session, deployment, check, view)

    window = counted.window
    oldest, newest = (window.get(name) for name in ("oldest_record_at", "newest_record_at"))
    view = replace(
        view,
        records=window.get("records"),
        additional_records=window.get("additional_records"),
        logged_in_span=window.get("logged_in_span"),
        oldest=None if oldest is None else datetime.fromisoformat(oldest),
        newest=None if newest is None else datetime.fromisoformat(newest),
    )

    view = replace(view, notes=notes_on_records(session, counted))
    reason = _why_not(counted, kind, deployment)
    if reason is not None:
        return replace(view, reason=reason)
    data, metrics = _NEEDED[kind]
    return _fill_view(view, read_check_source(session, counted, data=data, metrics=metrics))


def _why_not(counted: CountedCheck, kind: ViewKind, deployment: Deployment) -> str | None:
    check = counted.check
    if check.state in _NOT_OVER:
        return _NOT_OVER[check.state]
    if check.state in _ENDED_WITHOUT:
        return f"{_ENDED_WITHOUT[check.state]}: {check.reason or 'no reason is known'}"
    if kind is ViewKind.PAYLOAD:
        return None
    if kind is ViewKind.PAYLOAD_PERTURBED:
        return why_not_perturbed(counted)
    return why_not_debiased(counted, is_in_files=deployment.payload is not None)


def _fill_view(view: CheckView, source: CheckSource) -> CheckView:
    notes = view.notes if view.check.carried_from is None else (CARRIED.format(check_id=view.check.carried_from), *view.notes)
    balanced: tuple[AttributeView, ...] = ()
    mode: str | None = None
    match view.kind:
        case ViewKind.PAYLOAD_PERTURBED:
            attributes = perturbed_attributes(source)
            notes += notes_on_copies(source, attributes) + notes_on_intervals(source, attributes)
        case ViewKind.DEBIASED:
            attributes, balanced, mode = debiased_attributes(source), balanced_attributes(source), read_mitigation_mode(source)
            notes += notes_on_mitigation(source) + notes_on_copies(source, balanced)
        case _:
            attributes = payload_attributes(source)
    return replace(view, attributes=attributes, balanced=balanced, mitigation_mode=mode, notes=notes)
