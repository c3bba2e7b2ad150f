"""Sentences about the causes of a gap."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from ..base.values import frozen_by_name
from ..statistics.e_values.state_words import MINUTE
from ..statistics.sentences.rounding import digits_apart
from .causes import (
    ALL_STAYS,
    NONE_STAYS,
    CauseFigures,
    GapCause,
    Ratio,
    find_bad_column,
    find_stays,
    may_be_equal,
)

NO_CAUSE = "These figures do not tell what carries the gap."


@frozen_by_name
class CauseNames:
    """Names for sentences. `drivers` carry parts of the gap that are more than chance, the largest first.

    `boundary` is the first revision within the onset's range and its first answer; `remarks` are sentences
    that other features word.
    """

    attribute: str
    group: str
    reference: str
    drivers: Sequence[str] = ()
    boundary: tuple[str, datetime] | None = None
    remarks: Mapping[GapCause, str]


def say_everything_equal(logged: Ratio | None, counterfactual: Ratio | None) -> str:
    """What stays of the gap with everything else equal; empty where that is not known."""
    if logged is None or counterfactual is None:
        return ""
    value, low, high = counterfactual
    stays = find_stays(logged, counterfactual)
    digits = digits_apart(value, (1.0,), 2)
    end = " and more" if high is None else f"–{high:.2f}"
    ratio = f"{value:.{digits}f} ({low or 0:.2f}{end})"
    if may_be_equal(counterfactual):
        is_open = stays is not None and stays > NONE_STAYS
        unsure = ". Some may stay: more records would show it" if is_open else ""
        return f"With everything else equal no gap is certain: {ratio}{unsure}."
    how = "there is a gap"
    if stays is not None and stays < 0:
        how = "the gap turns round"
    elif stays is not None and stays <= NONE_STAYS:
        how = "hardly any of the gap stays"
    elif stays is not None and stays < ALL_STAYS:
        how = f"{100 * stays:.0f} % of the gap stays"
    elif stays is not None:
        how = "the gap stays"
    return f"With everything else equal {how}: {ratio}."


def say_cause(cause: GapCause, figures: CauseFigures, names: CauseNames) -> str:
    change, equal = figures.change, figures.counterfactual
    column = find_bad_column(figures)
    match cause:
        case GapCause.DATA_QUALITY if column is not None:
            share = f"{100 * column.rise:.0f} % more of the records than before"
            return f"Since the onset {column.column} is missing, or a value never seen before, in {share}."
        case GapCause.MODEL_CHANGED if names.boundary is not None:
            revision, at = names.boundary
            return f"Revision {revision} answers since {at:{MINUTE}} UTC; the change began about then."
        case GapCause.REFERENCE_CHANGED if change is not None and change.of_reference is not None:
            group, reference = (
                f"{name} moved from {100 * before:.1f} to {100 * after:.1f} %"
                for name, before, after in zip(
                    (names.group, names.reference), change.before, change.after, strict=True
                )
            )
            part = _say_part(change.of_reference)
            return (
                f"The rate of {group}, that of {reference}: {part} of the ratio's change is the reference's."
            )
        case GapCause.WHO_APPLIES if change is not None and change.of_applicants is not None:
            feature, applicants = change.of_applicants
            return f"{_say_part(applicants)} of the change goes with who applied: another mix of {feature}."
        case GapCause.CUT_OFF if figures.other_cut_off_inside:
            return "At another cut-off near the present one the ratio is inside the limits."
        case GapCause.CUT_OFF:
            return "Scores hardly moved at the onset, but favourable outcomes did."
        case GapCause.PROXY:
            through = (
                f"comes through {' and '.join(names.drivers) or 'other columns'}, in which the groups differ"
            )
            if equal is None:
                return f"The model does not see {names.attribute}: the gap {through}."
            stays = find_stays(figures.logged, equal)
            if stays is None or (stays > NONE_STAYS and may_be_equal(equal)):
                return say_everything_equal(figures.logged, equal)
            return f"With everything else equal {_say_part(1 - stays)} of the gap goes: it {through}."
        case GapCause.ATTRIBUTE_ITSELF:
            return say_everything_equal(figures.logged, equal)
    return names.remarks.get(cause, "")


def _say_part(part: float) -> str:
    return f"{100 * part:.0f} %" if part < 1 else "all"
