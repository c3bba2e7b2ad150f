"""Sentences about the causes of a gap."""

from collections.abc import Mapping, Sequence

from ..base.values import frozen_by_name
from ..statistics.e_values.state_words import MINUTE
from ..statistics.sentences.everything_equal import NONE_STAYS, find_stays, may_be_equal, say_everything_equal
from .attribution.attribution import RevisionBoundary
from .causes import CauseFigures, GapCause


@frozen_by_name
class CauseNames:
    """Names for sentences. `drivers` carry parts of the gap that are more than chance, the largest first.

    `boundary` lies within the range of the onset; `remarks` are worded elsewhere.
    """

    attribute: str
    group: str
    reference: str
    drivers: Sequence[str] = ()
    boundary: RevisionBoundary | None = None
    remarks: Mapping[GapCause, str]


def say_cause(cause: GapCause, figures: CauseFigures, names: CauseNames) -> str:
    change, equal = figures.change, figures.counterfactual
    match cause:
        case GapCause.MODEL_CHANGED if names.boundary is not None:
            revision, at = names.boundary.after, names.boundary.at
            return f"Revision {revision} answers since {at:{MINUTE}} UTC; the change began about then."
        case GapCause.REFERENCE_CHANGED if change is not None:
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
        case GapCause.WHO_APPLIES if change is not None:
            applicants, feature = change.of_applicants
            return f"{_say_part(applicants)} of the change goes with who applied: another mix of {feature}."
        case GapCause.PROXY:
            through = (
                f"comes through {' and '.join(names.drivers) or 'other features'}, in which the groups differ"
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
