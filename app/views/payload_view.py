"""The views of logged records: as they were scored, and together with their perturbed copies."""

from collections.abc import Mapping
from typing import Any, Final, cast

from app.checks.doubts import notes_on_doubts
from app.checks.gaps import NO_ENDPOINT
from app.checks.sub_ranges import inside
from app.domain.checks import DataSet, Measurement, Scope
from app.metrics.catalogue import CATALOGUE
from app.metrics.tables import BalancedCells, GroupCounts
from app.views.check_source import CheckSource, Standing, features_of, is_together
from app.views.check_views import AttributeView
from app.views.group_shares import shares, side

RATE: Final = "favourable_rate"
IMPACT: Final = "disparate_impact"
EQUALITY: Final = "perfect_equality"
OPENSCALE: Final = "openscale_fairness"

_TWO_SIDES: Final = 2

NOT_PERTURBED = "attributes that are watched together are measured on logged records only; they are not perturbed together"
NOT_PICKED = "the monitor picks no metric of balanced data, so no copies were scored"
LIKE_PAYLOAD = (
    "The model does not see {attribute}, and no correlated features are set for it: every copy is answered as its record was, so the"
    " perturbed figures say nothing that the payload does not."
)
THROUGH = (
    "The model does not see {attribute}. Its copies take {features} from training records of the other group, so figures with copies are of"
    " what goes through these features."
)
UNEQUAL = (
    "Shares with copies, perfect equality and OpenScale's fairness count every copy as a record. A side of {attribute} has several values,"
    " or ranges with several copies a record, so these figures hold some records more often than others, and part of a difference may"
    " be due to who the records are. The balanced disparate impact counts every record once on each side."
)
EARLIER_DEFINITION = (
    "The disparate impact with copies of this check was measured by release 0.1, which counted every copy as a record. It is OpenScale's"
    " fairness; checks since then count every record once on each side."
)
OTHER_REVISIONS = (
    "{records:,} records were scored by another revision of the model. They have no copies and stand in no group of this view."
)


def payload_attributes(source: CheckSource) -> tuple[AttributeView, ...]:
    """Every attribute and intersection on logged records."""
    return tuple(_of_payload(source, attribute) for attribute in source.attributes())


def perturbed_attributes(source: CheckSource) -> tuple[AttributeView, ...]:
    """Every attribute on logged records with their copies; an intersection with the reason why it is not there."""
    return tuple(_of_balanced(source, attribute) for attribute in source.attributes())


def why_not_perturbed(standing: Standing) -> str | None:
    """Why a check that is over has no copies; None if it has."""
    if DataSet.BALANCED in standing.data_sets:
        return None
    return NOT_PICKED if standing.window.get("with_endpoint") else NO_ENDPOINT


def notes_on_copies(source: CheckSource, with_copies: tuple[AttributeView, ...]) -> tuple[str, ...]:
    """What must be said beside figures with copies, of these attributes."""
    unseen, through = notes_on_unseen(source.window), source.window.get("correlated_features", {})
    others = int(source.window.get("records_of_other_revisions", 0))
    copied = [one for one in with_copies if one.attribute not in unseen or one.attribute in through]
    return (
        *(note for notes in unseen.values() for note in notes),
        *(UNEQUAL.format(attribute=one.attribute) for one in copied if _is_unequal(one)),
        *((EARLIER_DEFINITION,) if is_of_earlier_definition(source) else ()),
        *((OTHER_REVISIONS.format(records=others),) if others else ()),
    )


def is_of_earlier_definition(source: CheckSource) -> bool:
    """Whether the check's balanced comparisons were measured by release 0.1, whose definition was OpenScale's."""
    impacts = (one for one in source.figures if one.metric != OPENSCALE and "disparate_impact" in one.metric)
    current = CATALOGUE[IMPACT].definition_on(DataSet.BALANCED.value)
    return any(one.data is DataSet.BALANCED and one.definition < current for one in impacts)


def notes_on_unseen(window: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Returns, of each attribute that the model does not see, what its figures with copies mean and whether they can be trusted.

    `window` is that of a check.
    """
    through = cast("Mapping[str, Mapping[str, Any]]", window.get("correlated_features", {}))
    plain = [name for name in window.get("attributes_unseen_by_model", ()) if name not in through]
    found: dict[str, tuple[str, ...]] = {name: (LIKE_PAYLOAD.format(attribute=name),) for name in plain}
    for name, used in through.items():
        found[name] = (THROUGH.format(attribute=name, features=", ".join(used["features"])), *notes_on_doubts(name, used))
    return found


def _is_unequal(view: AttributeView) -> bool:
    """Whether records stand more often in one group than in another; with one group on each side every record stands in both."""
    return len({group.records for group in view.groups}) > 1 or len(view.groups) > _TWO_SIDES


def equality_of(source: CheckSource, attribute: str) -> Measurement | None:
    """The perfect equality of an attribute, as the check measured it or its monitor's table says."""
    table = source.tables[DataSet.BALANCED, attribute].whole
    found = source.measured(DataSet.PAYLOAD_PERTURBED, attribute, EQUALITY, table)
    return next((one for one in found if one.scope is Scope.ATTRIBUTE), None)


def copies_of(source: CheckSource, attribute: str) -> tuple[int | None, int | None]:
    """The copies of the window's records in an attribute, and those of them in neither outcome list; None where that is not known."""
    perturbed, unclassified = (source.window.get(name, {}) for name in ("perturbed_records", "unclassified_copies"))
    return perturbed.get(attribute), unclassified.get(attribute)


def _of_payload(source: CheckSource, attribute: str) -> AttributeView:
    parts = source.tables[DataSet.PAYLOAD, attribute]
    table, additional = cast("GroupCounts", parts.whole), cast("GroupCounts", parts.additional)
    found = side(
        source.measured(DataSet.PAYLOAD, attribute, RATE, table),
        source.of(DataSet.PAYLOAD, attribute, IMPACT),
    )
    groups, pooled = shares(table, additional, found, inside=inside(parts.cells))
    return AttributeView(
        attribute=attribute,
        features=features_of(attribute),
        groups=groups,
        pooled=pooled,
        worst=found.worst,
        in_no_group=table.other,
    )


def _of_balanced(source: CheckSource, attribute: str) -> AttributeView:
    if (DataSet.BALANCED, attribute) not in source.tables:
        reason = NOT_PERTURBED if is_together(attribute) else NOT_PICKED
        return AttributeView(attribute=attribute, features=features_of(attribute), reason=reason)
    parts = source.tables[DataSet.BALANCED, attribute]
    table, additional = cast("BalancedCells", parts.whole), cast("BalancedCells", parts.additional)
    found = side(
        source.measured(DataSet.PAYLOAD_PERTURBED, attribute, RATE, table),
        source.of(DataSet.BALANCED, attribute, IMPACT),
        openscale=source.measured(DataSet.PAYLOAD_PERTURBED, attribute, OPENSCALE, table),
    )
    groups, pooled = shares(table, additional, found)
    copies, unclassified = copies_of(source, attribute)
    return AttributeView(
        attribute=attribute,
        features=features_of(attribute),
        groups=groups,
        pooled=pooled,
        worst=found.worst,
        in_no_group=table.other,
        perturbed_records=copies,
        unclassified_copies=unclassified,
        perfect_equality=equality_of(source, attribute),
        notes=notes_on_unseen(source.window).get(attribute, ()),
    )
