"""Records that need a second look, in words."""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from ...base.values import Range, Scalar, frozen_by_name, join_first, name_value
from ...checks import queries as checks
from ...checks.result_queries import read_measurements
from ...checks.views.view_source import counted_check
from ...domain.check import CheckRun, CheckState, DataSet, Measurement, Scope
from ...domain.deployment import Deployment
from ...domain.groups import GroupWords
from ...domain.mitigation import FlaggedRecord
from ...domain.monitor import Monitor, MonitoredAttribute, list_comparisons, split_group
from ...domain.paging import Paging
from ...statistics.sentences.figure_sentences import digits_apart

FLIPS = "flip_rate"

_DIGITS = 4
MOST_REFERENCES = 3

MAX_SENTENCES = 5
MAX_LABELS = 6
"""Max buttons of a record; a label of more classes is sent as a file."""


@frozen_by_name
class FlipTotal:
    """`records` of a group whose outcome a copy would make favourable; `query` lists exactly these."""

    sentence: str
    records: int
    query: Mapping[str, str]


def list_flip_totals(
    session: Session, deployment: Deployment, monitor: Monitor | None, check: CheckRun | None
) -> tuple[CheckRun | None, list[FlipTotal]]:
    """Sentences such as `71 of 222 women were not rated No Risk, and would have been as men`, and their
    check.

    By default of the newest that succeeded. There is no sentence without copies, and none on an attribute
    that the model does not see, whose copies change other columns.
    """
    if check is None:
        check = next(iter(checks.page(session, deployment.no, Paging(1), state=CheckState.SUCCEEDED)), None)
    if check is None or monitor is None or check.state is not CheckState.SUCCEEDED:
        return check, []
    names = GroupWords.of(monitor)
    features = {column.name for column in deployment.schema.features}
    attributes = {
        attribute.feature: attribute for attribute in monitor.attributes if attribute.feature in features
    }
    totals = []
    for measurement in read_measurements(session, counted_check(session, check).origin.no, metrics=[FLIPS]):
        attribute = attributes.get(measurement.attribute or "")
        group = measurement.group
        details = measurement.details
        gained = details.counts.get("gained")
        records = details.counts.get("n")
        if (
            measurement.data is not DataSet.COUNTERFACTUAL
            or measurement.scope is not Scope.GROUP
            or group is None
            or attribute is None
            or gained is None
            or not records
            or group not in map(name_value, attribute.monitored)
        ):
            continue
        sentence = _word_total(attribute, group, int(gained), int(records), names)
        if "repeats" in details.counts:
            sentence += f" Caution: the flip rate {details.caution}."
        query = {"check": check.id, "attribute": attribute.feature, "group": group, "changed": "gained"}
        totals.append(FlipTotal(sentence=sentence, records=int(gained), query=query))
    return check, sorted(totals, key=lambda total: -total.records)[:MAX_SENTENCES]


def say_effect(
    measured: Sequence[Measurement],
    deployment: Deployment,
    monitor: Monitor,
    *,
    figure: tuple[str, str],
    check_id: str,
) -> FlipTotal | None:
    """Says what the model does to a group because of the attribute, by the copies of a check.

    `figure` is the attribute and the group; of several attributes the sentence is about the one that changes
    most. None where nothing is known of it.
    """
    names = GroupWords.of(monitor)
    features = {column.name for column in deployment.schema.features}
    totals = []
    comparisons = (pair for pair in list_comparisons(monitor) if pair.label == figure[0])
    members = next((pair.members(monitor) for pair in comparisons), [])
    groups = [(figure[1],)] if len(members) == 1 else split_group(figure[1], members)
    for attribute, group in zip(members, groups[0] if groups else (), strict=False):
        name = attribute.feature
        if name not in features:
            totals.append(FlipTotal(sentence=f"The model does not see {name}.", records=0, query={}))
            continue
        counts = next(
            (
                measurement.details.counts
                for measurement in measured
                if (measurement.metric, measurement.data, measurement.scope)
                == (FLIPS, DataSet.COUNTERFACTUAL, Scope.GROUP)
                and (measurement.attribute, measurement.group) == (name, group)
            ),
            {},
        )
        gained, lost, records = (counts.get(kind) for kind in ("gained", "lost", "n"))
        if gained is None or lost is None or not records:
            continue
        change = "lost" if lost > gained else "gained"
        sentence = _word_total(attribute, group, int(gained), int(records), names)
        if lost > gained:
            outcome = names.names.favourable
            present, other = (
                ("got the favourable outcome", "not have got it")
                if outcome is None
                else (f"{'were' if lost > 1 else 'was'} {outcome}", "not have been")
            )
            sentence = (
                f"{int(lost):,} of {int(records):,} {names.subject(name, group)} {present}, "
                f"and would {other} {_word_change(attribute, names)}."
            )
        elif not gained:
            sentence = (
                f"The outcome of none of {int(records):,} {names.subject(name, group)} would be another "
                f"{_word_change(attribute, names)}."
            )
        query = {"check": check_id, "attribute": name, "group": group, "changed": change}
        totals.append(FlipTotal(sentence=sentence, records=int(max(gained, lost)), query=query))
    return max(totals, key=lambda total: total.records, default=None)


def _word_total(
    attribute: MonitoredAttribute, group: str, gained: int, records: int, names: GroupWords
) -> str:
    name = names.names.favourable
    groups = names.subject(attribute.feature, group)
    change = _word_change(attribute, names)
    present = f"{'were' if gained > 1 else 'was'} not {name}"
    otherwise = "have been"
    if name is None and gained:
        present = "did not get the favourable outcome"
        otherwise = "have got it"
    elif name is None:
        present = "got another outcome"
        otherwise = "have got the favourable one"
    if not gained:
        return f"Of {records:,} {groups}, none that {present} would {otherwise} {change}."
    return f"{gained:,} of {records:,} {groups} {present}, and would {otherwise} {change}."


def _word_change(attribute: MonitoredAttribute, names: GroupWords) -> str:
    reference = attribute.reference
    if reference is not None and len(reference) == 1 and not isinstance(reference[0], Range):
        return f"as {names.subject(attribute.feature, name_value(reference[0]))}"
    if reference is None:
        return f"with another value of {attribute.feature}"
    named = [names.label(attribute.feature, name_value(value)) for value in reference]
    return f"with {attribute.feature} as in the reference ({join_first(named, MOST_REFERENCES)})"


def pick_labels(monitor: Monitor | None) -> Sequence[Scalar]:
    if monitor is None:
        return ()
    listed = (*monitor.outcomes.favourable, *monitor.outcomes.unfavourable)
    return tuple(value for value in listed if not isinstance(value, Range))[:MAX_LABELS]


def known_gap(flag: FlaggedRecord) -> float | None:
    """None where a score is not known."""
    return None if flag.own_score is None or flag.reference_score is None else flag.gap


def why(flag: FlaggedRecord, names: GroupWords) -> str:
    outcome, negation = ("favourable", "") if flag.direction == "lifted" else ("unfavourable", "not ")
    copied = f"with reference values of {flag.attribute} instead of {names.label(flag.attribute, flag.group)}"
    if flag.kind == "likely":
        score = "" if flag.bias_score is None else f" (bias score {flag.bias_score:.4g})"
        return f"The bias detector expects the model's answer to be {outcome} {copied}{score}."
    name = names.names.favourable
    answer = f"the model's answer is {outcome}" if name is None else f"the record is {negation}{name}"
    scores = ""
    if flag.own_score is not None and flag.reference_score is not None:
        digits = digits_apart(flag.reference_score, (flag.own_score,), _DIGITS)
        scores = f": the score is {flag.reference_score:.{digits}f} instead of {flag.own_score:.{digits}f}"
    return f"Asked again {copied}, {answer}{scores}."
