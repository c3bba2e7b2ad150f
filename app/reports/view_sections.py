"""The four views of a check in a report: for each attribute a chart and the same figures as a table."""

from collections.abc import Iterator

from app.charts.shares import VIEW_TITLES, ranges_chart, shares_chart
from app.domain.mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, Mode
from app.metrics.catalogue import CATALOGUE
from app.reports.document import Block, Figure, Paragraph, Section, Table
from app.reports.numbers import ABSENT, count, interval_of, moment, share, share_interval, value_of, verdict_of
from app.views.check_views import AttributeView, Change, CheckView, GroupShare, ViewKind

_TITLES = {
    ViewKind.PAYLOAD: "What was logged",
    ViewKind.PAYLOAD_PERTURBED: "What was logged, with copies in which the attribute is changed",
    ViewKind.TRAINING: "What the model was trained on",
    ViewKind.DEBIASED: "What mitigation would change",
}
_MEANINGS = {
    ViewKind.PAYLOAD: (
        "How often each group was given the favourable outcome. It includes every difference between the people of the groups."
    ),
    ViewKind.PAYLOAD_PERTURBED: (
        "The model was asked again about copies of the same records in which the attribute is changed, one attribute at a time. Compared:"
        " every record counts once on each side, as it is and as its copies are, so what is left of a difference is due to that change."
        " Shares, perfect equality (the favourable share of all reference records, original and copied) and OpenScale's fairness (the share"
        " of a group over it) count every copy as a record, as OpenScale does."
    ),
    ViewKind.TRAINING: "How often each group has the favourable label in the training data, as it is stored now.",
    ViewKind.DEBIASED: "The outcomes of the same records before mitigation and after it, as logged and with copies.",
}
ORDER = (ViewKind.PAYLOAD, ViewKind.PAYLOAD_PERTURBED, ViewKind.TRAINING, ViewKind.DEBIASED)


_CAUTIONS = frozenset((ONLY_DIRECT, PARITY_TREATS_UNLIKE))
_BY_CONSTRUCTION = (
    "With copies, figures after mitigation come close to 1 by the way that substitution works: a monitored record gets what the model"
    " answers to its own copies. That is no evidence of fair outcomes; the figures as logged show what is left."
)


def view_sections(view: CheckView) -> Iterator[Section]:
    """A section of the view, and one beneath it for each attribute."""
    blocks: list[Block] = [Paragraph(_MEANINGS[view.kind])]
    if view.reason is not None:
        yield Section(_TITLES[view.kind], (*blocks, Paragraph(f"The check does not have this view: {view.reason}")))
        return
    blocks += [Paragraph(note, is_caution=note in _CAUTIONS) for note in view.notes]
    if view.kind is ViewKind.DEBIASED and view.balanced and view.mitigation_mode != Mode.PARITY:
        blocks.append(Paragraph(_BY_CONSTRUCTION, is_caution=True))
    blocks.append(Paragraph(_records(view)))
    yield Section(_TITLES[view.kind], tuple(blocks))
    balanced = {one.attribute: one for one in view.balanced}
    for one in view.attributes:
        yield Section(f"{one.attribute}: {VIEW_TITLES[view.kind]}", tuple(_attribute(view.kind, one, balanced.get(one.attribute))), level=3)


def _records(view: CheckView) -> str:
    if view.kind is ViewKind.TRAINING:
        return f"Training data of {count(view.records or 0)} records, processed on {moment(view.processed_at)}."
    more = f" and {count(view.additional_records)} of earlier hours" if view.additional_records else ""
    lost = f" {count(view.unclassified_records)} are in neither outcome list and in no share." if view.unclassified_records else ""
    return f"{count(view.records or 0)} records of the span{more}, from {moment(view.oldest)} to {moment(view.newest)}.{lost}"


def _attribute(kind: ViewKind, one: AttributeView, balanced: AttributeView | None) -> Iterator[Block]:
    if not one.groups:
        yield Paragraph(f"There are no figures: {one.reason or 'no group has records'}.")
        return
    yield Paragraph(_counted(one))
    yield Figure(f"Favourable share by {one.attribute}, {VIEW_TITLES[kind]}", lambda theme: shares_chart(kind, one, theme=theme))
    yield _shares(f"Figures of the chart: {one.attribute}, {VIEW_TITLES[kind]}", one)
    if kind is ViewKind.DEBIASED:
        yield from _mitigated(kind, one, balanced)
    if any(group.sub_ranges for group in one.groups):
        yield Figure(f"Favourable share by sub-range of {one.attribute}", lambda theme: ranges_chart(kind, one, theme=theme))
        yield _sub_ranges(one)


def _counted(one: AttributeView) -> str:
    parts = [f"Records in neither group or without a value: {count(one.in_no_group)}."]
    if one.perfect_equality is not None:
        parts.append(f"Perfect equality: {value_of(one.perfect_equality)} (95 %: {interval_of(one.perfect_equality)}).")
    if one.perturbed_records is not None:
        parts.append(f"Copies: {count(one.perturbed_records)}, of which {count(one.unclassified_copies or 0)} in neither outcome list.")
    return " ".join(parts)


def _shares(caption: str, one: AttributeView) -> Table:
    """The groups, and each role as a whole."""
    groups = (*one.groups, *one.pooled)
    if any(group.after is not None for group in groups):
        return Table(caption, _OF_PAIR, tuple(_pair(group) for group in groups), _RATIO)
    if any(group.openscale_fairness is not None for group in groups):
        rows = tuple((*_single(group), *_openscale(group)) for group in groups)
        return Table(caption, (*_OF_ONE, "OpenScale fairness", "95 %"), rows, _compared_as(groups))
    return Table(caption, _OF_ONE, tuple(_single(group) for group in groups), _compared_as(groups))


_OF_PAIR = ("Group", "Role", "Records", "Before", "95 %", "After", "95 %", "Ratio before", "Ratio after", "Verdict after")
_OF_ONE = ("Group", "Role", "Favourable", "Records", "Share", "95 %", "Compared", "95 %", "Verdict")
_RATIO = "The ratio is the disparate impact: the share of the group over that of the reference."


def _compared_as(groups: tuple[GroupShare, ...]) -> str | None:
    metrics = {group.comparison.metric for group in groups if group.comparison is not None}
    if any(group.openscale_fairness is not None for group in groups):
        return "Compared: the balanced disparate impact, every record once on each side."
    if metrics == {"disparate_impact"}:
        return f"Compared: {_RATIO[0].lower()}{_RATIO[1:]}"
    told = [f"{CATALOGUE[metric].title}, {CATALOGUE[metric].convention}" for metric in sorted(metrics)]
    return f"Compared: {'; '.join(told)}." if told else None


def _single(group: GroupShare) -> tuple[str, ...]:
    one, compared = group.outcomes, group.comparison
    return (
        *(_name(group), group.role, count(one.favourable), count(one.records)),
        *((one.reason or ABSENT, ABSENT) if one.share is None else (share(one.share), share_interval(one.lower, one.upper))),
        *((ABSENT, ABSENT) if compared is None else (value_of(compared), interval_of(compared))),
        verdict_of(compared),
    )


def _openscale(group: GroupShare) -> tuple[str, str]:
    one = group.openscale_fairness
    return (ABSENT, ABSENT) if one is None else (value_of(one), interval_of(one))


def _pair(group: GroupShare) -> tuple[str, ...]:
    cells: list[str] = []
    for one in (group.outcomes, group.after):
        known = one is not None and one.share is not None
        cells += [share(one.share), share_interval(one.lower, one.upper)] if one is not None and known else [_why(group), ABSENT]
    ratios = [ABSENT if one is None else value_of(one) for one in (group.comparison, group.comparison_after)]
    return (_name(group), group.role, count(group.records), *cells, *ratios, verdict_of(group.comparison_after))


def _why(group: GroupShare) -> str:
    return group.outcomes.reason or ABSENT


def _name(group: GroupShare) -> str:
    return f"all {group.role}" if group.group is None else group.group


def _mitigated(kind: ViewKind, one: AttributeView, balanced: AttributeView | None) -> Iterator[Block]:
    """The same with copies, which is always shown beside it, and what becomes of the accuracy."""
    if one.mitigated is not None:
        changed = one.mitigated
        left = "" if changed.undecided is None else f" {count(changed.undecided)} were left as they were, for want of an answer."
        note = f" {changed.note}" if changed.note else ""
        yield Paragraph(
            f"Of {count(changed.monitored)} monitored records, mitigation changes {count(changed.changed)}: {count(changed.lifted)} to"
            f" favourable, {count(changed.lowered)} to unfavourable.{left}{note}"
        )
    if balanced is None or not balanced.groups:
        yield Paragraph(
            f"There are no figures with copies: {(balanced and balanced.reason) or 'the check measured none'}.", is_caution=True
        )
    else:
        found = balanced
        caption = f"Favourable share by {one.attribute} with copies, before and after mitigation"
        yield Figure(caption, lambda theme: shares_chart(kind, found, theme=theme, with_copies=True))
        yield _shares(f"Figures of the chart: {one.attribute}, with copies", found)
    if one.accuracy:
        columns = ("Metric", "Whom", "Before", "95 %", "After", "95 %", "Change", "95 %")
        rows = tuple(_change(change) for change in one.accuracy)
        yield Table(f"Accuracy on labelled records before and after mitigation: {one.attribute}", columns, rows)


def _change(change: Change) -> tuple[str, ...]:
    whom = change.before.group or change.before.scope.value
    figures = (change.before, change.after, change.change)
    cells = [(ABSENT, ABSENT) if one is None else (value_of(one), interval_of(one)) for one in figures]
    return (change.before.metric.removesuffix("_before").replace("_", " "), whom, *(part for cell in cells for part in cell))


def _sub_ranges(one: AttributeView) -> Table:
    rows = tuple(
        (
            *(part.label, _name(group), group.role, count(part.favourable), count(part.records)),
            *((part.reason or ABSENT, ABSENT) if part.share is None else (share(part.share), share_interval(part.lower, part.upper))),
        )
        for group in one.groups
        for part in group.sub_ranges
    )
    columns = ("Sub-range", "Group", "Role", "Favourable", "Records", "Share", "95 %")
    return Table(f"Figures of the chart: {one.attribute} by sub-range", columns, rows)
