"""The story: each column looked at, and for those that are of a kind a proposal with its evidence, or the reason why not."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.deployments import FieldKind
from app.domain.monitors import DEFAULT_THRESHOLD
from app.domain.outcomes import OutcomeRule
from app.domain.values import GroupValue, Range
from app.metrics.sides import mirrored_ratio
from app.training.recommended.ages import choose_ages
from app.training.recommended.categories import choose_categories
from app.training.recommended.choice import Choice, NoChoice
from app.training.recommended.detecting import Confidence, Detected, detect
from app.training.recommended.kinds import Form, Kind
from app.training.recommended.observed import Count, Observed, Source, counts_of
from app.training.recommended.outcomes import Outcomes
from app.training.recommended.places import choose_places
from app.training.recommended.values import is_band

_CHOOSERS: Mapping[Form, Callable[..., Choice]] = {
    Form.CATEGORIES: choose_categories,
    Form.QUANTITY: choose_ages,
    Form.PLACES: choose_places,
}


DEFAULT_UPPER_THRESHOLD = mirrored_ratio(DEFAULT_THRESHOLD)

WHY = "0.8 is the four-fifths rule; 1.25 mirrors 0.8, so that a disadvantage of the reference group is seen as well"

NOT_NUMERIC = "it holds ages, but the deployment declares it categorical, and only numeric columns can be divided into ranges"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What tells that the column is of the kind: sentences of its name and its values, and the data that were looked at."""

    name: str | None
    values: str
    source: Source
    missing: int
    reference: str
    threshold: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One attribute that a monitor should watch. `by_default` = it is accepted where nothing else is asked for."""

    feature: str
    is_meta: bool
    kind: Kind
    confidence: Confidence
    by_default: bool
    choice: Choice
    threshold: float
    upper_threshold: float | None
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class NotProposed:
    """A column that speaks of a kind, and why it is not proposed."""

    feature: str
    kind: Kind
    reason: str


@dataclass(frozen=True, slots=True)
class AlreadyMonitored:
    """An attribute that the monitor has, and the kind it was recognised as; `choice` is what would be proposed for it."""

    feature: str
    kind: Kind | None
    choice: Choice | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """Everything that was found. Proposals are in the order of the kinds, then of the schema."""

    outcomes: Outcomes
    proposals: tuple[Proposal, ...]
    already: tuple[AlreadyMonitored, ...]
    not_proposed: tuple[NotProposed, ...]


def recommend(columns: Sequence[Observed], outcomes: Outcomes, monitored: Collection[str], *, strata: str | None) -> Recommended:
    """What a monitor of these columns should watch, beside the features it watches already and the column of its strata."""
    proposals: list[Proposal] = []
    already: list[AlreadyMonitored] = []
    not_proposed: list[NotProposed] = []
    for observed in columns:
        name = observed.column.name
        found = detect(name, observed.counted())
        if name in monitored:
            already.append(_already(observed, found, outcomes.rule))
        elif isinstance(found, Detected) and name == strata:
            not_proposed.append(NotProposed(name, found.row.kind, "the monitor compares within its values (`strata`), so not between them"))
        elif isinstance(found, Detected) and observed.source is not None:
            one = _proposal(observed, observed.source, found, outcomes.rule)
            if isinstance(one, Proposal):
                proposals.append(one)
            else:
                not_proposed.append(one)
        elif found is not None and not isinstance(found, Detected):
            not_proposed.append(NotProposed(name, found.row.kind, found.reason))
    order = list(Kind)
    proposals.sort(key=lambda one: order.index(one.kind))
    return Recommended(outcomes=outcomes, proposals=tuple(proposals), already=tuple(already), not_proposed=tuple(not_proposed))


def _already(observed: Observed, found: Detected | object, rule: OutcomeRule | None) -> AlreadyMonitored:
    name, source = observed.column.name, observed.source
    if not isinstance(found, Detected):
        return AlreadyMonitored(name, None, None)
    one = None if source is None else _proposal(observed, source, found, rule)
    return AlreadyMonitored(name, found.row.kind, one.choice if isinstance(one, Proposal) else None)


def _proposal(observed: Observed, source: Source, found: Detected, rule: OutcomeRule | None) -> Proposal | NotProposed:
    counts = counts_of(observed, rule)
    form = Form.CATEGORIES if found.row.form is Form.QUANTITY and _is_bands(counts) else found.row.form
    if form is Form.QUANTITY and observed.column.kind is not FieldKind.NUMERIC:
        return NotProposed(observed.column.name, found.row.kind, NOT_NUMERIC)
    try:
        choice = _CHOOSERS[form](found, counts, has_outcomes=rule is not None)
    except NoChoice as no_choice:
        return NotProposed(observed.column.name, found.row.kind, str(no_choice))
    warnings = (*([found.values.to_confirm] if found.values.to_confirm else []), *choice.warnings, *_of_source(observed))
    return Proposal(
        feature=observed.column.name,
        is_meta=observed.is_meta,
        kind=found.row.kind,
        confidence=found.confidence,
        by_default=found.confidence is Confidence.HIGH and found.row.form is not Form.PLACES,
        choice=replace(choice, warnings=warnings),
        threshold=DEFAULT_THRESHOLD,
        upper_threshold=DEFAULT_UPPER_THRESHOLD,
        evidence=Evidence(
            name=_of_name(found),
            values=found.values.sentence,
            source=source,
            missing=observed.missing,
            reference=choice.because,
            threshold=WHY,
        ),
    )


def _is_bands(counts: Mapping[GroupValue, Count]) -> bool:
    return any(isinstance(value, str) and is_band(value) for value in counts)


def _of_name(found: Detected) -> str | None:
    if found.name is None:
        return None
    if found.name.meaning is not None:
        return f"its name asks for {found.name.meaning}"
    beside = ", ".join(repr(word) for word in found.name.others[:5])
    return f"{found.name.phrase!r} in its name" + (f", beside {beside}" if beside else "")


def _of_source(observed: Observed) -> list[str]:
    cells = observed.distribution.cells if observed.distribution else ()
    if any(cell.weight is not None for cell in cells):
        return ["the training data carry weights; here records are counted, each as one"]
    if any(isinstance(value, Range) for cell in cells for value in cell.values):
        return ["its values are counted in intervals: ranges hold what lies in them as a whole"]
    return []
