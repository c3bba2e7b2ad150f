"""Same records before and after mitigation, alone and with copies, and the accuracy."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from ..checks.gaps import NO_ENDPOINT
from ..domain.checks import DataSet, Scope
from ..domain.comparisons import Comparison
from ..domain.mitigation import ONLY_DIRECT
from ..metrics.tables import DebiasedCells
from .check_source import CheckSource, CountedCheck
from .check_views import AttributeView, Change, MitigatedRecords
from .group_shares import shares, side
from .payload_view import RATE, copies_of, is_of_earlier_definition

RATE_BEFORE: Final = "selection_rate_before"
RATE_AFTER: Final = "selection_rate_after"
IMPACT_BEFORE: Final = "disparate_impact_before"
IMPACT_AFTER: Final = "disparate_impact_after"
BALANCED_BEFORE: Final = "balanced_disparate_impact_before"
BALANCED_AFTER: Final = "balanced_disparate_impact_after"
QUALITY: Final = (
    ("accuracy_before", "accuracy_after", "accuracy_change"),
    ("balanced_accuracy_before", "balanced_accuracy_after", "balanced_accuracy_change"),
)

NO_ATTRIBUTE = "the mitigation that was set for the deployment covers none of the monitored attributes"
IN_FILES = "the records of this deployment lie in your own tables, and mitigation is not there for them"
NOT_PICKED = "the monitor picks no metric that shows mitigation"
NOT_MITIGATED = "{attribute} is not among the attributes that were to be mitigated"
NOT_TOGETHER = "attributes that are watched together are not mitigated together"
PROVISIONAL = "The profile that mitigation uses is provisional: it is fitted to fewer records than are wanted, or to none yet."


def debiased_attributes(source: CheckSource) -> tuple[AttributeView, ...]:
    """Mitigated attributes on logged records; others with the reason why they are absent."""
    views = []
    for comparison in source.comparisons():
        if (DataSet.DEBIASED, comparison) not in source.tables:
            reason = NOT_TOGETHER if comparison.is_together else NOT_MITIGATED.format(attribute=comparison.label)
            views.append(AttributeView(comparison=comparison, reason=reason))
            continue
        parts = source.tables[DataSet.DEBIASED, comparison]
        table, additional = cast("DebiasedCells", parts.whole), cast("DebiasedCells", parts.additional)
        before, after = (
            side(source.measured(DataSet.DEBIASED, comparison, rate, table), source.of(DataSet.DEBIASED, comparison, impact))
            for rate, impact in ((RATE_BEFORE, IMPACT_BEFORE), (RATE_AFTER, IMPACT_AFTER))
        )
        groups, pooled = shares(table, additional, before, after=after)
        counts = _mitigation(source).get("attributes", {}).get(comparison.label)
        mitigated = None
        if counts is not None:
            mitigated = MitigatedRecords(
                monitored=counts["monitored"],
                changed=counts["changed"],
                lifted=counts["lifted"],
                lowered=counts["lowered"],
                undecided=counts.get("undecided", 0),
                note=counts.get("reason"),
            )
        views.append(
            AttributeView(
                comparison=comparison,
                groups=groups,
                pooled=pooled,
                worst=before.worst,
                worst_after=after.worst,
                records=source.records_on(DataSet.DEBIASED, comparison),
                accuracy=tuple(_accuracy_changes(source, comparison)),
                mitigated=mitigated,
            )
        )
    return tuple(views)


def balanced_attributes(source: CheckSource) -> tuple[AttributeView, ...]:
    # Rates and comparison are of one definition, also in checks of release 0.1.
    data = DataSet.PAYLOAD_PERTURBED if is_of_earlier_definition(source) else DataSet.BALANCED
    views = []
    for comparison in source.comparisons():
        if (DataSet.DEBIASED, comparison) not in source.tables:
            continue
        parts = source.tables[DataSet.DEBIASED, comparison]
        table, additional = cast("DebiasedCells", parts.whole), cast("DebiasedCells", parts.additional)
        before = side(
            source.measured(data, comparison, RATE, table.balanced_before),
            source.measured(DataSet.DEBIASED, comparison, BALANCED_BEFORE, table),
        )
        after = side(
            source.measured_again(data, comparison, RATE, table.balanced_after),
            source.measured(DataSet.DEBIASED, comparison, BALANCED_AFTER, table),
        )
        # The catalogue has no rate after mitigation, and statements on the one before would be untrue.
        after = replace(after, outcomes={subject: replace(one, figure=None) for subject, one in after.outcomes.items()})
        groups, pooled = shares(table, additional, before, after=after)
        copies, unclassified = copies_of(source, comparison.label)
        views.append(
            AttributeView(
                comparison=comparison,
                groups=groups,
                pooled=pooled,
                worst=before.worst,
                worst_after=after.worst,
                records=source.records_on(DataSet.BALANCED, comparison),
                perturbed_records=copies,
                unclassified_copies=unclassified,
            )
        )
    return tuple(views)


def why_not_debiased(counted: CountedCheck, *, is_in_files: bool) -> str | None:
    """None if the ended check has figures of mitigation."""
    if DataSet.DEBIASED in counted.data_sets:
        return None
    if is_in_files:
        return IN_FILES
    if not counted.window.get("with_endpoint"):
        return NO_ENDPOINT
    has_copies = bool(counted.window.get("perturbed_records"))
    return NO_ATTRIBUTE if has_copies and "mitigation" not in counted.window else NOT_PICKED


def mode_of(source: CheckSource) -> str | None:
    found = _mitigation(source).get("mode")
    return None if found is None else str(found)


def notes_on_mitigation(source: CheckSource) -> tuple[str, ...]:
    return (ONLY_DIRECT, PROVISIONAL) if _mitigation(source).get("profile_is_provisional") else (ONLY_DIRECT,)


def _accuracy_changes(source: CheckSource, comparison: Comparison) -> Iterable[Change]:
    """All records come first."""
    data = DataSet.DEBIASED_FEEDBACK
    parts = source.tables.get((data, comparison))
    for names in QUALITY:
        before, after, change = (
            {
                (one.scope, one.group): one
                for one in (source.of(data, comparison, name) if parts is None else source.measured(data, comparison, name, parts.whole))
            }
            for name in names
        )
        for subject in sorted(before, key=lambda subject: subject[0] is not Scope.OVERALL):
            yield Change(before=before[subject], after=after.get(subject), change=change.get(subject))


def _mitigation(source: CheckSource) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", source.window.get("mitigation", {}))
