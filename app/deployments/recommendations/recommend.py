"""Recommends monitors from data: for each column of a kind a proposal, or the reason why not."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy.orm import Session

from ...base.errors import FieldProblem, InvalidInput
from ...base.values import Range, Scalar, frozen, frozen_by_name
from ...domain.deployment import Deployment, FieldKind, ProblemType, StorageKind
from ...domain.monitor import DEFAULT_THRESHOLD, Monitor, MonitoredAttribute, OutcomeRule
from ...sources.stored.newest_record import SampledRecord, read_newest_records
from ...statistics.measures.worst_group import mirror_ratio
from ...web.body import Out
from ..monitor.bodies import FeatureName
from ..training.queries import Cell, Distribution, TrainingSummary, find_training_summary, read_distributions
from .age_groups import choose_ages, is_band
from .attribute_kinds import Kind, ValueNature
from .category_groups import choose_categories, choose_places
from .detect_kind import Confidence, DetectedKind, DismissedColumn, detect_kind, is_named_after_kind
from .group_choice import CountsOrigin, GroupChoice, NoChoice, ObservedColumn, Source
from .suggested_outcomes import MAX_GROUP_VALUES, OutcomesOrigin, RecommendedOutcomes, determine_outcomes

DEFAULT_UPPER_THRESHOLD = mirror_ratio(DEFAULT_THRESHOLD)

OfferedGroups = Literal["proposed", "customary"]

_ATTRIBUTE_POSITION = re.compile(r"attributes\[(\d+)\]")


@frozen_by_name
class ColumnEvidence:
    name: str | None
    values: str
    source: Source
    missing: int
    reference: str
    threshold: str = (
        "0.8 is the four-fifths rule; 1.25 mirrors 0.8, so that a disadvantage of the "
        "reference group is seen as well"
    )


@frozen_by_name
class Proposal:
    feature: str
    is_meta: bool
    kind: Kind
    confidence: Confidence
    accepted_by_default: bool
    choice: GroupChoice
    evidence: ColumnEvidence
    threshold: float = DEFAULT_THRESHOLD
    upper_threshold: float | None = DEFAULT_UPPER_THRESHOLD


class NotProposedOut(Out):
    """A column that suggests a kind of attribute, and the reason why it is not proposed."""

    feature: FeatureName
    kind: Kind
    reason: str


@frozen
class AlreadyMonitored:
    feature: str
    kind: Kind | None
    choice: GroupChoice | None


@frozen_by_name
class Recommendations:
    outcomes: RecommendedOutcomes
    proposals: tuple[Proposal, ...]
    already_monitored: tuple[AlreadyMonitored, ...]
    not_proposed: tuple[NotProposedOut, ...]


def recommend_attributes(
    columns: Sequence[ObservedColumn],
    outcomes: RecommendedOutcomes,
    monitored: Collection[str],
    *,
    strata: str | None,
) -> Recommendations:
    proposals = []
    already_monitored = []
    not_proposed = []
    for observed in columns:
        name = observed.column.name
        detected = detect_kind(name, observed.count_records())
        proposal = None
        if isinstance(detected, DetectedKind) and observed.source is not None:
            proposal = _propose_groups(observed, observed.source, detected, outcomes.rule)
        if name in monitored:
            kind = detected.row.kind if isinstance(detected, DetectedKind) else None
            already_monitored.append(
                AlreadyMonitored(name, kind, proposal.choice if isinstance(proposal, Proposal) else None)
            )
        elif isinstance(detected, DismissedColumn):
            not_proposed.append(NotProposedOut(feature=name, kind=detected.row.kind, reason=detected.reason))
        elif detected is not None and name == strata:
            reason = "the monitor compares within its values (`strata`), so not between them"
            not_proposed.append(NotProposedOut(feature=name, kind=detected.row.kind, reason=reason))
        elif isinstance(proposal, Proposal):
            proposals.append(proposal)
        elif proposal is not None:
            not_proposed.append(proposal)
    order = list(Kind)
    proposals.sort(key=lambda proposal: order.index(proposal.kind))
    return Recommendations(
        outcomes=outcomes,
        proposals=tuple(proposals),
        already_monitored=tuple(already_monitored),
        not_proposed=tuple(not_proposed),
    )


def _propose_groups(
    observed: ObservedColumn, source: Source, detected: DetectedKind, rule: OutcomeRule | None
) -> Proposal | NotProposedOut:
    row = detected.row
    has_outcomes = rule is not None
    counts = observed.count_outcomes(rule)
    try:
        if row.nature is ValueNature.PLACES:
            choice = choose_places(row, detected.values, counts, has_outcomes=has_outcomes)
        elif row.nature is ValueNature.CATEGORIES or any(map(is_band, counts)):
            choice = choose_categories(row, detected.values, counts, has_outcomes=has_outcomes)
        elif observed.column.kind is FieldKind.NUMERIC:
            choice = choose_ages(row.splits, counts, has_outcomes=has_outcomes)
        else:
            reason = (
                "it holds ages, but the deployment declares it categorical, and only numeric columns can "
                "be divided into ranges"
            )
            return NotProposedOut(feature=observed.column.name, kind=row.kind, reason=reason)
    except NoChoice as no_choice:
        return NotProposedOut(feature=observed.column.name, kind=row.kind, reason=str(no_choice))

    warnings = [*filter(None, [detected.values.to_confirm]), *choice.warnings]
    cells = observed.distribution.cells if observed.distribution else ()
    if any(cell.weight is not None for cell in cells):
        warnings.append("the training data carry weights; here records are counted, each as one")
    elif any(isinstance(value, Range) for cell in cells for value in cell.values):
        warnings.append("its values are counted in intervals: ranges hold what lies in them as a whole")
    evidence = ColumnEvidence(
        name=None if detected.name is None else detected.name.sentence,
        values=detected.values.sentence,
        source=source,
        missing=observed.missing,
        reference=choice.because,
    )
    return Proposal(
        feature=observed.column.name,
        is_meta=observed.is_meta,
        kind=row.kind,
        confidence=detected.confidence,
        accepted_by_default=detected.confidence is Confidence.HIGH and row.nature is not ValueNature.PLACES,
        choice=replace(choice, warnings=tuple(warnings)),
        evidence=evidence,
    )


def read_recommendations(
    session: Session, deployment: Deployment, monitor: Monitor | None, sent: OutcomeRule | None = None
) -> Recommendations:
    summary = find_training_summary(session, deployment.no)
    distributions = read_distributions(session, deployment.no)
    sample = read_newest_records(session, deployment.no, deployment.schema.version)

    if sent is not None:
        outcomes = RecommendedOutcomes(sent, OutcomesOrigin.SENT, is_certain=True, evidence="they were sent")
    else:
        predicted: Counter[Scalar | Range] = Counter(
            record.outcome for record in sample if record.outcome is not None
        )
        labels: Counter[Scalar | Range] = Counter()
        for cell in summary.labels.cells if summary else ():
            if cell.label is not None:
                labels[cell.label] += cell.records
        name = summary.label if summary else deployment.outputs.label or deployment.outputs.prediction
        is_quantity = deployment.problem_type is ProblemType.REGRESSION
        outcomes = determine_outcomes(
            monitor, labels or predicted, name=name, predicted=predicted, is_quantity=is_quantity
        )

    columns = _observe_columns(deployment, summary, distributions, sample)
    watched = {attribute.feature for attribute in monitor.attributes} if monitor else set()
    return recommend_attributes(columns, outcomes, watched, strata=monitor.strata if monitor else None)


def _observe_columns(
    deployment: Deployment,
    summary: TrainingSummary | None,
    distributions: Sequence[Distribution],
    sample: Sequence[SampledRecord],
) -> list[ObservedColumn]:
    trained: dict[str, Distribution] = {}
    for distribution in sorted(distributions, key=lambda distribution: len(distribution.columns)):
        for name in distribution.columns:
            trained.setdefault(name, distribution)

    observations = []
    schema = deployment.schema
    columns = [(False, *numbered) for numbered in enumerate(schema.features)] + [
        (True, *numbered) for numbered in enumerate(schema.meta)
    ]
    for is_meta, position, column in columns:
        if column.storage is not None and column.storage.kind is StorageKind.PSEUDONYM:
            continue  # nobody could say what its groups are
        counted = trained.get(column.name)
        source = None
        if summary is not None and counted is not None and counted.cells:
            source = Source(CountsOrigin.TRAINING, summary.records, summary.processed_at)
        else:
            counted = None
        if source is None and sample:
            source = Source(CountsOrigin.AS_LOGGED, len(sample), sample[0].logged_at)
            of_records = [record.meta if is_meta else record.features for record in sample]
            values = [record[position] if position < len(record) else None for record in of_records]
            # Not of ids, texts and amounts, which are not worth counting by outcome.
            if is_named_after_kind(column.name) or len(set(values)) <= MAX_GROUP_VALUES:
                # A boolean and a number are one key to Python, but a column and an outcome have one type
                # each.
                cells = Counter(zip(values, (record.outcome for record in sample), strict=True))
                counted = Distribution(
                    (column.name,),
                    tuple(Cell((value,), label, records) for (value, label), records in cells.items()),
                )
        observations.append(ObservedColumn(column, is_meta, counted, source))
    return observations


@frozen
class Acceptance:
    """`changes` are edited members of a MonitoredAttribute. `picked` None: the groups there, or else
    proposed.
    """

    feature: str
    changes: Mapping[str, Any]
    picked: OfferedGroups | None = None


def merge_into_monitor(
    monitor: Monitor | None, recommendations: Recommendations, acceptances: Sequence[Acceptance] | None
) -> Monitor:
    """Adds the accepted attributes, and the outcomes if the monitor is new or they were sent; the result is
    not checked by the rules of monitors.

    Without `acceptances`, every proposal that is accepted by default is accepted. A monitored attribute keeps
    everything that was neither picked nor edited, so the same again changes nothing. Raises InvalidInput.
    """
    attributes = {attribute.feature: attribute for attribute in monitor.attributes} if monitor else {}
    proposals = {proposal.feature: proposal for proposal in recommendations.proposals}
    if acceptances is None:
        acceptances = [
            Acceptance(proposal.feature, {})
            for proposal in recommendations.proposals
            if proposal.accepted_by_default
        ]
        if not acceptances and monitor is None:
            raise InvalidInput(
                "attributes",
                "is required: no proposal is sure enough to be accepted unseen; list those you want",
            )
    problems = _find_problems(acceptances, {*attributes, *proposals}, recommendations)
    rule = recommendations.outcomes.rule
    if monitor is None and not (rule and recommendations.outcomes.is_certain):
        problems += [
            FieldProblem(field, f"is required: {recommendations.outcomes.evidence}")
            for field in ("favourable", "unfavourable")
        ]
    # The second test is for the type checker.
    if problems or rule is None:
        raise InvalidInput(problems)
    for acceptance in acceptances:
        feature = acceptance.feature
        changes = dict(acceptance.changes)
        choice = _find_choice(acceptance, recommendations)
        if choice is not None:
            changes = {"monitored": choice.monitored, "reference": choice.reference} | changes
        if feature in attributes:
            attributes[feature] = replace(attributes[feature], **changes)
        else:
            attributes[feature] = _build_attribute(proposals[feature], changes)
    if monitor is None:
        return Monitor(outcomes=rule, attributes=tuple(attributes.values()))
    return replace(monitor, outcomes=rule, attributes=tuple(attributes.values()))


def _build_attribute(proposal: Proposal, changes: Mapping[str, Any]) -> MonitoredAttribute:
    attribute = MonitoredAttribute(
        feature=proposal.feature,
        monitored=proposal.choice.monitored,
        reference=proposal.choice.reference,
        threshold=proposal.threshold,
        upper_threshold=proposal.upper_threshold,
    )
    # If the threshold alone was edited, the upper one mirrors it.
    threshold = changes.get("threshold")
    if "upper_threshold" not in changes and isinstance(threshold, int | float):
        attribute = replace(attribute, upper_threshold=mirror_ratio(threshold))
    return replace(attribute, **changes)


def locate_problems(
    problems: Sequence[FieldProblem], monitor: Monitor, acceptances: Sequence[Acceptance] | None
) -> list[FieldProblem]:
    positions = {acceptance.feature: position for position, acceptance in enumerate(acceptances or ())}

    def locate(match: re.Match[str]) -> str:
        feature = monitor.attributes[int(match[1])].feature
        return f"attributes[{positions[feature]}]" if feature in positions else f"fairness_monitor.{match[0]}"

    return [
        FieldProblem(_ATTRIBUTE_POSITION.sub(locate, problem.field, count=1), problem.message)
        for problem in problems
    ]


def _find_problems(
    acceptances: Sequence[Acceptance], proposed_names: set[str], recommendations: Recommendations
) -> list[FieldProblem]:
    reasons = {rejected.feature: rejected.reason for rejected in recommendations.not_proposed}
    problems = []
    for position, acceptance in enumerate(acceptances):
        if acceptance.feature not in proposed_names:
            reason = reasons.get(
                acceptance.feature, "neither its name nor its values show an attribute to watch"
            )
            message = (
                f"{acceptance.feature!r:.210} is not proposed: {reason}. To watch it anyway, PUT the "
                "fairness monitor"
            )
            problems.append(FieldProblem(f"attributes[{position}].feature", message))
        elif any(earlier.feature == acceptance.feature for earlier in acceptances[:position]):
            problems.append(
                FieldProblem(
                    f"attributes[{position}].feature", f"{acceptance.feature!r:.210} is listed twice"
                )
            )
        elif acceptance.picked is not None and _find_choice(acceptance, recommendations) is None:
            reason = (
                f"no {acceptance.picked} groups of {acceptance.feature!r:.210} are known; send monitored and "
                "reference"
            )
            problems.append(FieldProblem(f"attributes[{position}].groups", reason))
    return problems


def _find_choice(acceptance: Acceptance, recommendations: Recommendations) -> GroupChoice | None:
    if acceptance.picked is None:
        return None
    attributes: list[Proposal | AlreadyMonitored] = [
        *recommendations.proposals,
        *recommendations.already_monitored,
    ]
    choice = next(
        (attribute.choice for attribute in attributes if attribute.feature == acceptance.feature), None
    )
    return choice if choice is None or acceptance.picked == "proposed" else choice.customary
