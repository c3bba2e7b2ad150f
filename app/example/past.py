"""The past decisions that the watched model is trained on, the same ones every time."""

import numpy as np
import pandas as pd

from .applicants import applicants, past_decisions

SEED = 20_260_101
TRAINING_ROWS = 5_000
DECISION = "decision"


def training_data() -> pd.DataFrame:
    """Returns past applicants with the past decision in the column DECISION; the same ones every time."""
    random = np.random.default_rng(SEED)
    people = applicants(TRAINING_ROWS, random)
    return pd.DataFrame(people).assign(**{DECISION: past_decisions(people, random)})
