"""The past decisions that the model is trained on."""

import numpy as np
import pandas as pd

from .applicants import applicants, past_decisions

SEED = 20_260_101
TRAINING_ROWS = 5_000
DECISION = "decision"


def training_data() -> pd.DataFrame:
    """Returns the same past applicants every time, with the decision in the column DECISION."""
    random = np.random.default_rng(SEED)
    people = applicants(TRAINING_ROWS, random)
    return pd.DataFrame(people).assign(**{DECISION: past_decisions(people, random)})
