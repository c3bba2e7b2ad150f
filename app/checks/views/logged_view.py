"""Views of logged records: alone, with perturbed copies, and before and after mitigation."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import cast

from ...base.strict_json import JsonObject
from ...domain.check import SIDES, DataSet, Scope
from ...domain.mitigation import ONLY_DIRECT
from ...domain.monitor import Comparison
from ...statistics.intervals.rate_estimates import RESAMPLING_METHOD
from ...statistics.tables.record_kinds import MitigatedCells
from ..measure import NO_ENDPOINT
from .view_shapes import AttributeView, Change, MitigatedOut, collect_figures, divide_shares, index_by_subject
from .view_source import CheckSource, CountedCheck, list_notes_on_unseen

RATE = "favourable_rate"
IMPACT = "disparate_impact"
EQUALITY = "perfect_equality"
OPENSCALE = "openscale_fairness"
RATE_BEFORE = "selection_rate_before"
RATE_AFTER = "selection_rate_after"
IMPACT_BEFORE = "disparate_impact_before"
IMPACT_AFTER = "disparate_impact_after"
COUNTERFACTUAL_BEFORE = "counterfactual_disparate_impact_before"
COUNTERFACTUAL_AFTER = "counterfactual_disparate_impact_after"
QUALITY = (
    ("accuracy_before", "accuracy_after", "accuracy_change"),
    ("balanced_accuracy_before", "balanced_accuracy_after", "balanced_accuracy_change"),
)
"""Metrics of labels before and after mitigation, and of the change."""

# Notes and reasons of the views:
NOT_PERTURBED = (
    "attributes that are watched together are measured on logged records only; they are not "
    "perturbed together"
)
NOT_PICKED = "the monitor picks no metric of counterfactual data, so no copies were scored"
UNEQUAL = (
    "Counterfactual rates, perfect equality and OpenScale's fairness count every copy as a record. A side of "
    "{attribute} has several values, or ranges with several copies a record, so these figures hold some "
    "records more often than others, and part of a difference may be due to who the records are. The "
    "counterfactual disparate impact counts every record once on each side."
)
INTERVALS_DIFFER = (
    "Intervals of the shares come from resampled records, those of the counterfactual shares before "
    "mitigation, in the view Mitigated, from a formula: they may differ a little."
)
NOT_SCORED = (
    "Records that were not scored, because the model gave no usable answer to copies of them: {records}. "
    "They are on neither side. Why: {because}"
)
ROUNDED = "{count:,} probabilities that the model answered, within 0.000001 of 0 to 1, count as 0 or 1."
OTHER_REVISIONS = (
    "{records:,} records were scored by another revision of the model. They have no copies "
    "and are in no group of this view."
)

NO_ATTRIBUTE = "the mitigation that was set for the deployment covers none of the monitored attributes"
IN_FILES = "the records of this deployment lie in your own tables, and mitigation is not there for them"
NO_MITIGATION_METRIC = "the monitor picks no metric that shows mitigation"
NOT_MITIGATED = "{attribute} is not among the attributes that were to be mitigated"
NOT_TOGETHER = "attributes that are watched together are not mitigated together"
PROVISIONAL = (
    "The profile that mitigation uses is provisional: it is fitted to fewer records than are "
    "wanted, or to none yet."
)


def list_logged_attributes(source: CheckSource) -> Iterator[AttributeView]:
    for comparison in source.list_comparisons():
        figures = collect_figures(
            source.list_or_measure(DataSet.AS_LOGGED, comparison, RATE),
            source.list_stored(DataSet.AS_LOGGED, comparison, IMPACT),
        )
        yield replace(
            divide_shares(comparison, source.tables[DataSet.AS_LOGGED, comparison], figures),
            records=source.records_on(DataSet.AS_LOGGED, comparison),
        )


def list_perturbed_attributes(source: CheckSource) -> Iterator[AttributeView]:
    for comparison in source.list_comparisons():
        stored = source.tables.get((DataSet.COUNTERFACTUAL, comparison))
        if stored is None:
            yield AttributeView(comparison, reason=NOT_PERTURBED if comparison.is_combination else NOT_PICKED)
            continue
        rates, equality, openscale = (
            source.list_or_measure(DataSet.OPENSCALE, comparison, metric)
            for metric in (RATE, EQUALITY, OPENSCALE)
        )
        figures = collect_figures(
            rates, source.list_stored(DataSet.COUNTERFACTUAL, comparison, IMPACT), openscale=openscale
        )
        yield replace(
            _add_copies(source, divide_shares(comparison, stored, figures)),
            perfect_equality=next(
                (measurement for measurement in equality if measurement.scope is Scope.ATTRIBUTE), None
            ),
            notes=list_notes_on_unseen(source.window).get(comparison.label, ()),
        )


def explain_not_perturbed(counted: CountedCheck) -> str | None:
    """Explains why the check has no counterfactual data; None if it has."""
    if DataSet.COUNTERFACTUAL in counted.data_sets:
        return None
    return counted.check.reason or (NOT_PICKED if counted.window.get("with_endpoint") else NO_ENDPOINT)


def list_notes_on_copies(source: CheckSource, with_copies: tuple[AttributeView, ...]) -> tuple[str, ...]:
    unseen = list_notes_on_unseen(source.window)
    correlated = source.window.get("correlated_features", {})
    notes = list(chain.from_iterable(unseen.values()))
    for view in with_copies:
        is_copied = view.attribute not in unseen or view.attribute in correlated
        # With one group on each side every record is in both; else some are in more groups than others.
        is_balanced = len(view.groups) <= len(SIDES) and len({group.records for group in view.groups}) <= 1
        if is_copied and not is_balanced:
            notes.append(UNEQUAL.format(attribute=view.attribute))
    if other_revisions := int(source.window.get("records_of_other_revisions", 0)):
        notes.append(OTHER_REVISIONS.format(records=other_revisions))
    return (*notes, *list_notes_on_answers(source.window))


def list_notes_on_intervals(source: CheckSource, with_copies: tuple[AttributeView, ...]) -> tuple[str, ...]:
    methods = {group.outcomes.interval_method for view in with_copies for group in view.groups}
    is_mitigated = DataSet.MITIGATED in source.counted.data_sets
    return (INTERVALS_DIFFER,) if is_mitigated and RESAMPLING_METHOD in methods else ()


def list_notes_on_answers(window: JsonObject) -> tuple[str, ...]:
    rounded = window.get("rounded_probabilities")
    notes = () if rounded is None else (ROUNDED.format(count=rounded),)
    counts = window.get("records_not_scored", {})
    records = ", ".join(f"{count:,} of {name}" for name, count in counts.items() if count)
    if not records:
        return notes
    because = "; ".join(str(cause["reason"]) for cause in window.get("not_scored_because", ()))
    return (*notes, NOT_SCORED.format(records=records, because=because))


def _add_copies(source: CheckSource, view: AttributeView) -> AttributeView:
    return replace(
        view,
        records=source.records_on(DataSet.COUNTERFACTUAL, view.comparison),
        perturbed_records=source.window.get("perturbed_records", {}).get(view.attribute),
        unclassified_copies=source.window.get("unclassified_copies", {}).get(view.attribute),
    )


def list_mitigated_attributes(source: CheckSource) -> Iterator[AttributeView]:
    for comparison in source.list_comparisons():
        stored = source.tables.get((DataSet.MITIGATED, comparison))
        if stored is None:
            reason = NOT_MITIGATED.format(attribute=comparison.label)
            if comparison.is_combination:
                reason = NOT_TOGETHER
            yield AttributeView(comparison, reason=reason)
            continue
        before, after = (
            collect_figures(
                source.list_or_measure(DataSet.MITIGATED, comparison, rate),
                source.list_stored(DataSet.MITIGATED, comparison, impact),
            )
            for rate, impact in ((RATE_BEFORE, IMPACT_BEFORE), (RATE_AFTER, IMPACT_AFTER))
        )
        counts = read_mitigation(source).get("attributes", {}).get(comparison.label)
        yield replace(
            divide_shares(comparison, stored, before, after=after),
            records=source.records_on(DataSet.MITIGATED, comparison),
            accuracy=tuple(_list_accuracy_changes(source, comparison)),
            mitigated=counts
            and MitigatedOut.model_validate({"undecided": 0, "note": counts.get("reason"), **counts}),
        )


def list_counterfactual_attributes(source: CheckSource) -> Iterator[AttributeView]:
    for comparison in source.list_comparisons():
        stored = source.tables.get((DataSet.MITIGATED, comparison))
        if stored is None:
            continue
        table = cast("MitigatedCells", stored.whole)
        before = collect_figures(
            source.list_or_measure(DataSet.COUNTERFACTUAL, comparison, RATE, table.counterfactual_before),
            source.list_or_measure(DataSet.MITIGATED, comparison, COUNTERFACTUAL_BEFORE),
        )
        after = collect_figures(
            source.measure(DataSet.COUNTERFACTUAL, comparison, RATE, table.counterfactual_after),
            source.list_or_measure(DataSet.MITIGATED, comparison, COUNTERFACTUAL_AFTER),
        )
        # The catalogue has no rate after mitigation, and statements on the one before would be untrue.
        after = replace(
            after,
            outcomes={
                subject: replace(outcomes, figure=None) for subject, outcomes in after.outcomes.items()
            },
        )
        yield _add_copies(source, divide_shares(comparison, stored, before, after=after))


def explain_not_mitigated(counted: CountedCheck, *, is_in_files: bool) -> str | None:
    """Explains why the check has no mitigated data; None if it has."""
    if DataSet.MITIGATED in counted.data_sets:
        return None
    if is_in_files:
        return IN_FILES
    if not counted.window.get("with_endpoint"):
        return NO_ENDPOINT
    if counted.check.reason:
        return counted.check.reason
    is_without_attribute = counted.window.get("perturbed_records") and "mitigation" not in counted.window
    return NO_ATTRIBUTE if is_without_attribute else NO_MITIGATION_METRIC


def list_notes_on_mitigation(source: CheckSource) -> tuple[str, ...]:
    is_provisional = read_mitigation(source).get("profile_is_provisional")
    return (ONLY_DIRECT, PROVISIONAL) if is_provisional else (ONLY_DIRECT,)


def _list_accuracy_changes(source: CheckSource, comparison: Comparison) -> Iterator[Change]:
    for names in QUALITY:
        before, after, change = (
            index_by_subject(source.list_or_measure(DataSet.MITIGATED_LABELLED, comparison, name))
            for name in names
        )
        for subject in sorted(before, key=lambda subject: subject[0] is not Scope.OVERALL):
            yield Change(before[subject], after.get(subject), change.get(subject))


def read_mitigation(source: CheckSource) -> JsonObject:
    """Reads what the check stored of its mitigation; empty without any."""
    return cast("JsonObject", source.window.get("mitigation", {}))
