"""First page of a report."""

from collections.abc import Iterator

from ..charts.ratio_pictures import axis_svg
from ..domain.texts import TOGETHER
from ..views.forest import Forest, is_on_ratios
from ..views.forest_headline import SHARED_RECORDS, capitalise, word_forest
from ..views.headlines import VERDICT_WORDS, headlines, summary
from ..views.renaming import rename_evidence
from .document import FirstPage
from .evidence import MOST_SAID, say_since
from .facts import first_of, list_cautions, list_facts
from .group_rows import group_row
from .headlines import NOTHING
from .numbers import moment
from .source import ReportSource
from .verdict_counts import NONE_MEASURED, count_verdicts, describe_verdicts

_ROWS_OF_FULL_PAGE = 11
"""Rows of the forest next to which `MOST_SAID` comparisons fill the page."""


def first_page(source: ReportSource) -> FirstPage:
    """Returns the page. Where nothing was measured, it says why."""
    forest = source.forest
    headline = word_forest(forest)
    text = headline.text
    if source.check is None:
        text = "No check of this time succeeded."
    elif forest.check is None or not (forest.rows or headlines(source.measurements)):
        text = f"There is no figure of this check: {source.absent or NOTHING}"
    has_pictures = is_on_ratios(forest.metric) and bool(forest.rows)
    attribute = group = None
    if headline.row is not None:
        attribute, group = headline.row.attribute, forest.words.label(headline.row.attribute, headline.row.group)
    # Two rows fewer leave room for one more sentence.
    most, about = MOST_SAID + max(0, _ROWS_OF_FULL_PAGE - len(forest.rows)) // 2, ""
    if source.check is not None:
        span = source.check.span
        end = f"{span.end:%H:%M}" if span.end.date() == span.start.date() else f"{span.end:%Y-%m-%d %H:%M}"
        about = f"{'This' if source.is_of_check else 'The newest'} check, of {span.start:%Y-%m-%d %H:%M} to {end} UTC"
    return FirstPage(
        about=about,
        verdict=VERDICT_WORDS[headline.verdict] if headline.row is not None else "no verdict",
        headline=text,
        cautions=tuple(list_cautions(source)),
        notes=(
            *forest.notes,
            *source.missing,
            *sum_up_verdicts(source),
        ),
        facts=tuple(list_facts(source)),
        axis=axis_svg() if has_pictures else "",
        groups=tuple(group_row(row, has_picture=has_pictures) for row in forest.rows),
        owner=source.deployment.owner,
        attribute=attribute,
        group=group,
        note=f"{capitalise(headline.note)}." if headline.note else "",
        windows=headline.windows,
        categories=dict(name_categories(forest)),
        since=tuple(say_since(rename_evidence(forest.words, source.evidence), attribute=attribute, group=group, most=most)),
    )


def name_categories(forest: Forest) -> Iterator[tuple[str, str]]:
    """Yields each group's and reference's label in tables of people, with its name on this page."""
    for row in forest.rows:
        yield TOGETHER.join(row.parts), row.name
        yield TOGETHER.join(forest.words.parts(row.attribute, row.reference)), row.reference_name


def sum_up_verdicts(source: ReportSource) -> Iterator[str]:
    """Yields the verdicts of the check; of a period, those of all its checks before them."""
    if not source.is_of_check:
        counted = count_verdicts(source.histories)
        are_topped_up = bool(counted) and any(one.is_topped_up for one in source.forest.checks)
        yield (describe_verdicts(counted) if counted else NONE_MEASURED) + (f" {SHARED_RECORDS}" if are_topped_up else "")
    if source.check is not None and (shown := headlines(source.measurements, source.check.window)):
        counts = [f"{VERDICT_WORDS[grade].capitalize()}: {first_of(names)}." for grade, names in summary(shown)]
        of = "of this check" if source.is_of_check else f"of the newest check, which ended its span on {moment(source.check.span.end)}"
        yield f"Verdicts {of}. {' '.join(counts)}"
