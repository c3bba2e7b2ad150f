"""Records that need a second look, in words."""

from collections.abc import Sequence

from ...base.values import Range, Scalar
from ...domain.groups import GroupWords
from ...domain.mitigation import FlaggedRecord
from ...domain.monitor import Monitor
from ...statistics.sentences.figure_sentences import count_digits

_DIGITS = 4

MAX_LABELS = 6
"""Buttons of a record for labels; a label of a model with more classes is sent as a file."""


def pick_labels(monitor: Monitor | None) -> Sequence[Scalar]:
    if monitor is None:
        return ()
    listed = (*monitor.outcomes.favourable, *monitor.outcomes.unfavourable)
    return tuple(value for value in listed if not isinstance(value, Range))[:MAX_LABELS]


def find_known_gap(flag: FlaggedRecord) -> float | None:
    return None if flag.own_score is None or flag.reference_score is None else flag.gap


def write_reason(flag: FlaggedRecord, names: GroupWords) -> str:
    outcome, negation = ("favourable", "") if flag.direction == "lifted" else ("unfavourable", "not ")
    copied = f"with reference values of {flag.attribute} instead of {names.label(flag.attribute, flag.group)}"
    if flag.kind == "likely":
        score = "" if flag.bias_score is None else f" (bias score {flag.bias_score:.4g})"
        return f"The bias detector expects the model's answer to be {outcome} {copied}{score}."
    name = names.names.favourable
    answer = f"the model's answer is {outcome}" if name is None else f"the record is {negation}{name}"
    scores = ""
    if flag.own_score is not None and flag.reference_score is not None:
        digits = count_digits(flag.reference_score, (flag.own_score,), _DIGITS)
        scores = f": the score is {flag.reference_score:.{digits}f} instead of {flag.own_score:.{digits}f}"
    return f"Asked again {copied}, {answer}{scores}."
