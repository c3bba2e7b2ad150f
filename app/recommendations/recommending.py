"""Recommends monitors: for each column of a kind a proposal with its evidence, or the reason why not."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..domain.deployments import FieldKind
from ..domain.monitors import DEFAULT_THRESHOLD
from ..domain.outcomes import OutcomeRule
from ..domain.values import Range
from ..frozen import frozen
from ..metrics.sides import mirrored_ratio
from .age_values import is_band
from .ages import choose_ages
from .categories import choose_categories
from .choice import GroupChoice, NoChoice
from .detecting import Confidence, Detected, Dismissed, detect
from .kinds import Kind, ValueNature
from .observed import Observed, Source
from .outcomes import RecommendedOutcomes
from .places import choose_places

DEFAULT_UPPER_THRESHOLD = mirrored_ratio(DEFAULT_THRESHOLD)

WHY = "0.8 is the four-fifths rule; 1.25 mirrors 0.8, so that a disadvantage of the reference group is seen as well"

NOT_NUMERIC = "it holds ages, but the deployment declares it categorical, and only numeric columns can be divided into ranges"
STRATA = "the monitor compares within its values (`strata`), so not between them"


@frozen(kw_only=True)
class ColumnEvidence:
    name: str | None
    values: str
    source: Source
    missing: int
    reference: str
    threshold: str


@frozen(kw_only=True)
class Proposal:
    """One attribute that a monitor should watch. `by_default` = it is accepted if nothing else is asked for."""

    feature: str
    is_meta: bool
    kind: Kind
    confidence: Confidence
    by_default: bool
    choice: GroupChoice
    threshold: float
    upper_threshold: float | None
    evidence: ColumnEvidence


@frozen
class NotProposed:
    feature: str
    kind: Kind
    reason: str


@frozen
class AlreadyMonitored:
    """An attribute that the monitor has, and the kind it was recognised as; `choice` is the proposal for it."""

    feature: str
    kind: Kind | None
    choice: GroupChoice | None


@frozen(kw_only=True)
class Recommended:
    """Proposals are in the order of the kinds, then of the schema."""

    outcomes: RecommendedOutcomes
    proposals: tuple[Proposal, ...]
    already: tuple[AlreadyMonitored, ...]
    not_proposed: tuple[NotProposed, ...]


def recommend(columns: Sequence[Observed], outcomes: RecommendedOutcomes, monitored: Collection[str], *, strata: str | None) -> Recommended:
    """Returns the attributes to watch, except those watched already and the column of the strata."""
    proposals: list[Proposal] = []
    already: list[AlreadyMonitored] = []
    not_proposed: list[NotProposed] = []
    for observed in columns:
        name = observed.column.name
        found = detect(name, observed.count_records())
        proposal = None
        if isinstance(found, Detected) and observed.source is not None:
            proposal = _propose(observed, observed.source, found, outcomes.rule)
        if name in monitored:
            kind = found.row.kind if isinstance(found, Detected) else None
            already.append(AlreadyMonitored(name, kind, proposal.choice if isinstance(proposal, Proposal) else None))
        elif isinstance(found, Dismissed):
            not_proposed.append(NotProposed(name, found.row.kind, found.reason))
        elif found is not None and name == strata:
            not_proposed.append(NotProposed(name, found.row.kind, STRATA))
        elif isinstance(proposal, Proposal):
            proposals.append(proposal)
        elif proposal is not None:
            not_proposed.append(proposal)
    order = list(Kind)
    proposals.sort(key=lambda one: order.index(one.kind))
    return Recommended(outcomes=outcomes, proposals=tuple(proposals), already=tuple(already), not_proposed=tuple(not_proposed))


def _propose(observed: Observed, source: Source, found: Detected, rule: OutcomeRule | None) -> Proposal | NotProposed:
    row, has_outcomes = found.row, rule is not None
    counts = observed.count_outcomes(rule)
    try:
        if row.form is ValueNature.PLACES:
            choice = choose_places(row, found.values, counts, has_outcomes=has_outcomes)
        elif row.form is ValueNature.CATEGORIES or any(map(is_band, counts)):
            choice = choose_categories(row, found.values, counts, has_outcomes=has_outcomes)
        elif observed.column.kind is FieldKind.NUMERIC:
            choice = choose_ages(row.splits, counts, has_outcomes=has_outcomes)
        else:
            return NotProposed(observed.column.name, row.kind, NOT_NUMERIC)
    except NoChoice as no_choice:
        return NotProposed(observed.column.name, row.kind, str(no_choice))

    warnings = [found.values.to_confirm] if found.values.to_confirm else []
    warnings += choice.warnings
    cells = observed.distribution.cells if observed.distribution else ()
    if any(cell.weight is not None for cell in cells):
        warnings.append("the training data carry weights; here records are counted, each as one")
    elif any(isinstance(value, Range) for cell in cells for value in cell.values):
        warnings.append("its values are counted in intervals: ranges hold what lies in them as a whole")
    evidence = ColumnEvidence(
        name=None if found.name is None else found.name.sentence,
        values=found.values.sentence,
        source=source,
        missing=observed.missing,
        reference=choice.because,
        threshold=WHY,
    )
    return Proposal(
        feature=observed.column.name,
        is_meta=observed.is_meta,
        kind=row.kind,
        confidence=found.confidence,
        by_default=found.confidence is Confidence.HIGH and row.form is not ValueNature.PLACES,
        choice=replace(choice, warnings=tuple(warnings)),
        threshold=DEFAULT_THRESHOLD,
        upper_threshold=DEFAULT_UPPER_THRESHOLD,
        evidence=evidence,
    )
