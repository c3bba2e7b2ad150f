"""Whether an open alarm still gets new evidence."""

import numpy as np

from .change_detector import log_mean
from .nulls import FloatArray
from .proof_of_fairness import LOG_SHOWN_FAIR

QUIET_HOURS = 168
"""Hours without new evidence after which an open alarm is marked."""


def is_quiet(unfair: FloatArray, fair: FloatArray) -> bool:
    """Whether ln E of these hours [H, A] is evidence of less than 20 to 1 either way."""
    return all(log_mean(np.nansum(side, axis=0).tolist()) < LOG_SHOWN_FAIR for side in (unfair, fair))
