"""Views of a check in a report."""

from collections.abc import Callable, Iterator

from ...charts.pictures.twin_tables import VIEW_TITLES, draw_ranges_chart, draw_shares_chart
from ...checks.views.view_shapes import AttributeView, CheckView, GroupShare, Outcomes, SubRange, ViewKind
from ...domain.check import Measurement
from ...domain.mitigation import ONLY_DIRECT
from ...statistics.catalogue import CATALOGUE
from ...statistics.sentences.left_out import list_lines
from ..document import (
    ABSENT,
    Block,
    Paragraph,
    ReportChart,
    ReportTable,
    Section,
    build_caution,
    format_interval,
    format_measured_value,
    format_value_and_interval,
    name_verdict,
    write_count,
    write_points,
    write_points_interval,
    write_share,
    write_share_interval,
    write_time,
)

_TITLES = {
    ViewKind.AS_LOGGED: "What was logged",
    ViewKind.OPENSCALE: "What was logged, with copies in which the attribute is changed",
    ViewKind.TRAINING: "What the model was trained on",
    ViewKind.MITIGATED: "What mitigation would change",
}
_MEANINGS = {
    ViewKind.AS_LOGGED: (
        "How often each group was given the favourable outcome. It includes every difference between the "
        "people of the groups."
    ),
    ViewKind.OPENSCALE: (
        "The model was asked again about copies of the same records in which the attribute is changed, one "
        "attribute at a time. Compared: every record counts once on each side, as it is and as its copies "
        "are, so what is left of a difference is due to that change. Shares, perfect equality (the "
        "favourable rate of all reference records, original and copied) and OpenScale's fairness (the share "
        "of a group over it) count every copy as a record, as OpenScale does."
    ),
    ViewKind.TRAINING: "How often each group has the favourable label in the training data, as it is stored "
    "now.",
    ViewKind.MITIGATED: "The outcomes of the same records before mitigation and after it, as logged and "
    "counterfactual.",
}
VIEW_ORDER = tuple(_TITLES)


_CLOSE_BY_CONSTRUCTION = (
    "Counterfactual figures after mitigation come close to 1 by the way that substitution works: a monitored "
    "record gets what the model answers to its own copies. That is no evidence of fair outcomes; the figures "
    "as logged show what is left."
)


def write_view_sections(view: CheckView) -> Iterator[Section]:
    blocks = [Paragraph(_MEANINGS[view.kind])]
    if view.reason is not None:
        yield Section(
            _TITLES[view.kind], (*blocks, Paragraph(f"The check does not have this view: {view.reason}"))
        )
        return
    blocks += [Paragraph(note, is_caution=note == ONLY_DIRECT) for note in view.notes]
    if view.kind is ViewKind.MITIGATED and view.counterfactual:
        blocks.append(build_caution(_CLOSE_BY_CONSTRUCTION))
    if view.kind is ViewKind.TRAINING:
        count = write_count(view.records or 0)
        records = f"Training data of {count} records, processed on {write_time(view.processed_at)}."
    else:
        additional = (
            f" and {write_count(view.additional_records)} of earlier hours" if view.additional_records else ""
        )
        records = (
            f"{write_count(view.records or 0)} records of the span{additional}, from "
            f"{write_time(view.oldest)} to {write_time(view.newest)}."
        )
    blocks.append(Paragraph(records))
    yield Section(_TITLES[view.kind], blocks)

    counterfactual = {attribute.attribute: attribute for attribute in view.counterfactual}
    for attribute in view.attributes:
        content = tuple(_write_attribute(view.kind, attribute, counterfactual.get(attribute.attribute)))
        yield Section(f"{attribute.attribute}: {VIEW_TITLES[view.kind]}", content, level=3)


def _write_attribute(
    kind: ViewKind, view: AttributeView, counterfactual: AttributeView | None
) -> Iterator[Block]:
    if not view.groups:
        yield Paragraph(f"There are no figures: {view.reason or 'no group has records'}.")
        return
    counts = [] if view.records is None else list_lines(view.records)
    if view.perfect_equality is not None:
        counts.append(
            f"Perfect equality: {format_measured_value(view.perfect_equality)} (95 %: "
            f"{format_interval(view.perfect_equality)})."
        )
    if view.perturbed_records is not None:
        counts.append(
            f"Copies: {write_count(view.perturbed_records)}, of which "
            f"{write_count(view.unclassified_copies or 0)} in neither outcome list."
        )
    yield Paragraph(" ".join(counts))
    yield ReportChart(
        f"Favourable rate by {view.attribute}, {VIEW_TITLES[kind]}",
        lambda look: draw_shares_chart(kind, view, look),
    )
    yield _tabulate_shares(f"Figures of the chart: {view.attribute}, {VIEW_TITLES[kind]}", view)
    if kind is ViewKind.MITIGATED:
        yield from _write_mitigation(kind, view, counterfactual)

    rows = [
        (
            sub_range.label,
            _name_group(group),
            group.role,
            write_count(sub_range.favourable),
            write_count(sub_range.records),
            *_format_share_and_interval(sub_range),
        )
        for group in view.groups
        for sub_range in group.sub_ranges
    ]
    if rows:
        yield ReportChart(
            f"Favourable rate by sub-range of {view.attribute}",
            lambda look: draw_ranges_chart(kind, view, look),
        )
        columns = ("Sub-range", "Group", "Role", "Favourable", "Records", "Share", "95 %")
        yield ReportTable(f"Figures of the chart: {view.attribute} by sub-range", columns, rows)


_PAIR_COLUMNS = (
    "Group",
    "Role",
    "Records",
    "Before",
    "95 %",
    "After",
    "95 %",
    "Ratio before",
    "Ratio after",
    "Verdict after",
)
_COLUMNS = ("Group", "Role", "Favourable", "Records", "Share", "95 %", "Compared", "95 %", "Verdict")
_RATIO_NOTE = "The ratio is the disparate impact: the share of the group over that of the reference."


def _tabulate_shares(caption: str, view: AttributeView) -> ReportTable:
    groups = (*view.groups, *view.pooled)
    rows = []
    if any(group.after is not None for group in groups):
        rows += [
            (
                _name_group(group),
                group.role,
                write_count(group.records),
                *_format_share_and_interval(group.outcomes),
                *_format_share_and_interval(group.after),
                format_value_and_interval(group.comparison)[0],
                format_value_and_interval(group.comparison_after)[0],
                name_verdict(group.comparison_after),
            )
            for group in groups
        ]
        return ReportTable(caption, _PAIR_COLUMNS, rows, _RATIO_NOTE)

    metrics = sorted({group.comparison.metric for group in groups if group.comparison is not None})
    has_openscale = any(group.openscale_fairness is not None for group in groups)
    for group in groups:
        outcomes = group.outcomes
        counts = (
            _name_group(group),
            group.role,
            write_count(outcomes.favourable),
            write_count(outcomes.records),
            *_format_share_and_interval(outcomes),
        )
        openscale = format_value_and_interval(group.openscale_fairness) if has_openscale else ()
        rows.append(
            (
                *counts,
                *format_value_and_interval(group.comparison),
                name_verdict(group.comparison),
                *openscale,
            )
        )
    if has_openscale:
        note = "Compared: the counterfactual disparate impact, every record once on each side."
        return ReportTable(caption, (*_COLUMNS, "OpenScale fairness", "95 %"), rows, note)
    if metrics == ["disparate_impact"]:
        return ReportTable(caption, _COLUMNS, rows, f"Compared: {_RATIO_NOTE[0].lower()}{_RATIO_NOTE[1:]}")
    titles = "; ".join(f"{CATALOGUE[metric].title}, {CATALOGUE[metric].convention}" for metric in metrics)
    return ReportTable(caption, _COLUMNS, rows, f"Compared: {titles}." if titles else None)


def _format_share_and_interval(outcomes: Outcomes | SubRange | None) -> tuple[str, str]:
    if outcomes is None or outcomes.share is None:
        reason = None if outcomes is None else outcomes.reason
        return reason or ABSENT, ABSENT
    return write_share(outcomes.share), write_share_interval(outcomes.lower, outcomes.upper)


def _name_group(group: GroupShare) -> str:
    return f"all {group.role}" if group.group is None else group.group


def _write_mitigation(
    kind: ViewKind, view: AttributeView, counterfactual: AttributeView | None
) -> Iterator[Block]:
    if view.mitigated is not None:
        counts = view.mitigated
        note = f" {counts.note}" if counts.note else ""
        yield Paragraph(
            f"Of {write_count(counts.monitored)} monitored records, mitigation changes "
            f"{write_count(counts.changed)}: {write_count(counts.lifted)} to favourable, "
            f"{write_count(counts.lowered)} to unfavourable. "
            f"{write_count(counts.undecided)} were left as they were, because an answer is missing.{note}"
        )
    if counterfactual is None or not counterfactual.groups:
        reason = None if counterfactual is None else counterfactual.reason
        yield build_caution(f"There are no counterfactual figures: {reason or 'the check measured none'}.")
    else:
        # The chart is drawn later; this name is never None for it.
        drawn_view = counterfactual
        caption = f"Favourable rate by {view.attribute}, counterfactual, before and after mitigation"
        yield ReportChart(caption, lambda look: draw_shares_chart(kind, drawn_view, look, with_copies=True))
        yield _tabulate_shares(f"Figures of the chart: {view.attribute}, counterfactual", drawn_view)
    if view.accuracy:
        columns = ("Metric", "Group", "Before", "95 %", "After", "95 %", "Change, in points", "95 %")
        rows = []
        for change in view.accuracy:
            metric = change.before.metric.removesuffix("_before").replace("_", " ")
            cells = [
                *_format_measurement(change.before, write_share, write_share_interval),
                *_format_measurement(change.after, write_share, write_share_interval),
                *_format_measurement(change.change, write_points, write_points_interval),
            ]
            rows.append((metric, change.before.group or change.before.scope.value, *cells))
        yield ReportTable(
            f"Accuracy on labelled records before and after mitigation: {view.attribute}", columns, rows
        )


def _format_measurement(
    measurement: Measurement | None,
    write: Callable[[float], str],
    write_ends: Callable[[float | None, float | None], str],
) -> tuple[str, str]:
    if measurement is None or measurement.value is None:
        return format_value_and_interval(measurement)
    return write(measurement.value), write_ends(measurement.lower, measurement.upper)
