"""Measures labels and predictions themselves, of everybody."""

from collections.abc import Mapping

import numpy as np

from ...details import Details
from ..cautions import caution
from ..formulas.means import UNSEEN, loss_limits
from ..tables.score_sums import LARGEST_LOSS, SMALLEST
from ..values import Measured, Undefined, Value
from . import classes, distances
from .answer_data import ClassAnswers, ClassProbabilities, NumberAnswers, Unanswered

CLASS_LOG_LOSS, LOSS_METHOD = "class_log_loss", "log_student"
NO_NUMBERS = "the model predicts classes, between which there is no distance"
NO_CLASSES = "the model predicts real numbers, not classes"


def measure_answers(answers: ClassAnswers | NumberAnswers | Unanswered, wanted: Mapping[str, str]) -> list[Measured]:
    """Measures the wanted metrics in that order, each with its formula's text.

    Raises:
        ValueError: a metric is not one of labels and predictions themselves.
    """
    unknown = sorted(wanted.keys() - {*classes.AVERAGES, *distances.DISTANCES, CLASS_LOG_LOSS})
    if unknown:
        raise ValueError(f"expected metrics of labels and predictions themselves, found {', '.join(unknown)}")
    return [_measure(key, formula, answers) for key, formula in wanted.items()]


def _measure(key: str, formula: str, answers: ClassAnswers | NumberAnswers | Unanswered) -> Measured:
    number: Value | Undefined
    counts, smallest = {}, 0
    if isinstance(answers, Unanswered):
        number = Undefined(answers.reason, answers.n)
    elif isinstance(answers, ClassAnswers) and key == CLASS_LOG_LOSS:
        known = answers.probabilities
        if isinstance(known, str):
            number = Undefined(known, int(answers.table.sum()))
        else:
            number = log_loss_of_classes(known)
            smallest = number.n
            counts = {"n": number.n, "classes": known.table.shape[1]}
    elif isinstance(answers, ClassAnswers):
        n = int(answers.table.sum())
        counts, smallest = {"n": n, "classes": len(answers.table)}, classes.smallest_class(key, answers) if n else 0
        reason = classes.lacking(key, answers) if key in classes.AVERAGES else NO_NUMBERS
        number = Undefined(reason, n) if reason else classes.average(key, answers)
    else:
        n = answers.actual.size
        counts, smallest = {"n": n}, n
        reason = distances.lacking(key, answers) if key in distances.DISTANCES else NO_CLASSES
        number = Undefined(reason, n) if reason else distances.DISTANCES[key](answers)
    warning = caution(smallest) if isinstance(number, Value) else None
    details = Details(formula=formula, counts=counts, caution=warning)
    return Measured(metric=key, scope="overall", group=None, number=number, smallest_group=smallest, details=details)


def log_loss_of_classes(known: ClassProbabilities) -> Value:
    """Mean of -ln of the probability of the label's class, with its interval.

    The largest loss is that of a probability of zero. The limits allow for half an unseen record, whose label is any class alike.
    """
    losses = -np.log(np.clip(known.table, SMALLEST, 1.0))
    own = losses[np.arange(len(losses)), known.labels]
    point, n = float(own.mean()), float(len(own))
    unseen, unseen_square = (float((losses**power).mean()) * 2 * UNSEEN for power in (1, 2))
    mean = (point * n + unseen) / (n + 2 * UNSEEN)
    square = (float((own * own).mean()) * n + unseen_square) / (n + 2 * UNSEEN)
    if mean == 0:
        return Value(0.0, 0.0, LARGEST_LOSS, LOSS_METHOD, len(losses))
    with np.errstate(over="ignore"):
        found = loss_limits(np.array(mean), np.array(square), np.array(n))
    lower, upper = min(float(found.lower), point), max(float(found.upper), point)
    return Value(point, lower, min(upper, LARGEST_LOSS), LOSS_METHOD, len(losses))
