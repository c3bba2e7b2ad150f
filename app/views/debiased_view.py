"""The view of mitigation: the same records before and after it, alone and with their copies, and the accuracy on labels."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from app.checks.gaps import NO_ENDPOINT
from app.domain.checks import DataSet, Scope
from app.domain.mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, Mode
from app.metrics.tables import DebiasedCells
from app.views.check_source import CheckSource, Standing, features_of, is_together
from app.views.check_views import AttributeView, Change, MitigatedRecords, Outcomes
from app.views.group_shares import Side, Whom, shares, side
from app.views.payload_view import RATE, copies_of, is_of_earlier_definition

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
NOT_PICKED = "the monitor picks no metric that shows mitigation"
NOT_MITIGATED = "{attribute} is not among the attributes that were to be mitigated"
NOT_TOGETHER = "attributes that are watched together are not mitigated together"
PROVISIONAL = "What was learnt for mitigation is provisional: it rests on fewer records than are wanted, or on none yet."


def debiased_attributes(source: CheckSource) -> tuple[AttributeView, ...]:
    """Every mitigated attribute on logged records, before and after; any other with the reason why it is not there."""
    return tuple(_alone(source, attribute) for attribute in source.attributes())


def balanced_attributes(source: CheckSource) -> tuple[AttributeView, ...]:
    """The mitigated attributes on logged records with their copies, before and after."""
    return tuple(_with_copies(source, attribute) for attribute in source.attributes() if (DataSet.DEBIASED, attribute) in source.tables)


def why_not_debiased(standing: Standing) -> str | None:
    """Why a check that is over says nothing of mitigation; None if it does."""
    if DataSet.DEBIASED in standing.data_sets:
        return None
    if not standing.window.get("with_endpoint"):
        return NO_ENDPOINT
    has_copies = bool(standing.window.get("perturbed_records"))
    return NO_ATTRIBUTE if has_copies and "mitigation" not in standing.window else NOT_PICKED


def mode_of(source: CheckSource) -> str | None:
    """In which mode the outcomes were mitigated."""
    found = _mitigation(source).get("mode")
    return None if found is None else str(found)


def notes_on_mitigation(source: CheckSource) -> tuple[str, ...]:
    """What must be said beside debiased figures."""
    said = PARITY_TREATS_UNLIKE if mode_of(source) == Mode.PARITY else ONLY_DIRECT
    return (said, PROVISIONAL) if _mitigation(source).get("profile_is_provisional") else (said,)


def _alone(source: CheckSource, attribute: str) -> AttributeView:
    if (DataSet.DEBIASED, attribute) not in source.tables:
        reason = NOT_TOGETHER if is_together(attribute) else NOT_MITIGATED.format(attribute=attribute)
        return AttributeView(attribute=attribute, features=features_of(attribute), reason=reason)
    parts = source.tables[DataSet.DEBIASED, attribute]
    table, additional = cast("DebiasedCells", parts.whole), cast("DebiasedCells", parts.additional)
    before, after = (
        side(source.measured(DataSet.DEBIASED, attribute, rate, table), source.of(DataSet.DEBIASED, attribute, impact))
        for rate, impact in ((RATE_BEFORE, IMPACT_BEFORE), (RATE_AFTER, IMPACT_AFTER))
    )
    groups, pooled = shares(table, additional, before, after=after)
    return AttributeView(
        attribute=attribute,
        features=features_of(attribute),
        groups=groups,
        pooled=pooled,
        worst=before.worst,
        worst_after=after.worst,
        in_no_group=table.other,
        accuracy=tuple(_changes(source, attribute)),
        mitigated=_mitigated(source, attribute),
    )


def _with_copies(source: CheckSource, attribute: str) -> AttributeView:
    parts = source.tables[DataSet.DEBIASED, attribute]
    table, additional = cast("DebiasedCells", parts.whole), cast("DebiasedCells", parts.additional)
    # Rates and their comparison are of one definition, also in checks of release 0.1.
    data = DataSet.PAYLOAD_PERTURBED if is_of_earlier_definition(source) else DataSet.BALANCED
    before = side(
        source.measured(data, attribute, RATE, table.balanced_before),
        source.of(DataSet.DEBIASED, attribute, BALANCED_BEFORE),
    )
    after = side(
        source.measured_anew(data, attribute, RATE, table.balanced_after),
        source.of(DataSet.DEBIASED, attribute, BALANCED_AFTER),
    )
    groups, pooled = shares(table, additional, before, after=_unnamed(after))
    copies, unclassified = copies_of(source, attribute)
    return AttributeView(
        attribute=attribute,
        features=features_of(attribute),
        groups=groups,
        pooled=pooled,
        worst=before.worst,
        worst_after=after.worst,
        in_no_group=table.other,
        perturbed_records=copies,
        unclassified_copies=unclassified,
    )


def _unnamed(found: Side) -> Side:
    """Outcomes that the catalogue has no rate for: what is said of the rate before mitigation would be untrue of them."""
    outcomes: dict[Whom, Outcomes] = {whom: replace(one, figure=None) for whom, one in found.outcomes.items()}
    return Side(outcomes, found.comparisons)


def _changes(source: CheckSource, attribute: str) -> Iterable[Change]:
    """Accuracy before and after, of everybody first."""
    for names in QUALITY:
        before, after, change = (
            {(one.scope, one.group): one for one in source.of(DataSet.DEBIASED_FEEDBACK, attribute, name)} for name in names
        )
        for whom in sorted(before, key=_everybody_first):
            yield Change(before=before[whom], after=after.get(whom), change=change.get(whom))


def _everybody_first(whom: tuple[Scope, str | None]) -> bool:
    return whom[0] is not Scope.OVERALL


def _mitigated(source: CheckSource, attribute: str) -> MitigatedRecords | None:
    counts = _mitigation(source).get("attributes", {}).get(attribute)
    if counts is None:
        return None
    return MitigatedRecords(
        monitored=counts["monitored"],
        changed=counts["changed"],
        lifted=counts["lifted"],
        lowered=counts["lowered"],
        undecided=counts.get("undecided"),
        note=counts.get("reason"),
    )


def _mitigation(source: CheckSource) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", source.window.get("mitigation", {}))
