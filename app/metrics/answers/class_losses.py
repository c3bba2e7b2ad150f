"""Log loss of probabilities of several classes: the mean surprise at the label's class."""

import numpy as np

from ..formulas.means import UNSEEN, loss_limits
from ..tables.score_sums import LARGEST_LOSS, SMALLEST
from ..values import Value
from .answer_data import ClassProbabilities

CLASS_LOG_LOSS = "class_log_loss"
"""Key of the figure that is computed here."""

METHOD = "log_student"


def log_loss_of_classes(known: ClassProbabilities) -> Value:
    """Returns the mean of -ln of the probability of the label's class, with its interval.

    The largest loss is that of a probability of zero. The limits allow for unseen records as those of two classes do: for half a record,
    whose label is any of the classes alike.
    """
    losses = -np.log(np.clip(known.table, SMALLEST, 1.0))
    own = losses[np.arange(len(losses)), known.labels]
    point, n = float(own.mean()), float(len(own))
    unseen, unseen_square = (float((losses**power).mean()) * 2 * UNSEEN for power in (1, 2))
    mean = (point * n + unseen) / (n + 2 * UNSEEN)
    square = (float((own * own).mean()) * n + unseen_square) / (n + 2 * UNSEEN)
    if mean == 0:
        return Value(0.0, 0.0, LARGEST_LOSS, METHOD, len(losses))
    # Of few records the upper limit is beyond every number, and the largest loss instead.
    with np.errstate(over="ignore"):
        found = loss_limits(np.array(mean), np.array(square), np.array(n))
    lower, upper = min(float(found.lower), point), max(float(found.upper), point)
    return Value(point, lower, min(upper, LARGEST_LOSS), METHOD, len(losses))
