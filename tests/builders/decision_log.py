"""A DataFrame of decisions whose truth is known."""

from typing import Any

import numpy as np
import pandas as pd

START = pd.Timestamp("2026-10-05T00:00:00Z")
CHANGE = 150
COLUMNS: dict[str, Any] = {"attribute": "sex", "time": "at", "reference": "man", "prediction": "approved", "favourable": "yes"}
"""The arguments that say what each column is."""


def log(hours: int = 250, *, ratio: float = 0.6, seed: int = 1, records: int = 300) -> pd.DataFrame:
    """Decisions of which those about women fall to that ratio after CHANGE hours."""
    rng = np.random.default_rng(seed)
    hour = np.repeat(np.arange(hours), records)
    woman = rng.random(hour.size) < 0.3
    rate = np.where(woman, 0.5 * np.where(hour < CHANGE, 0.95, ratio), 0.5)
    return pd.DataFrame(
        {
            "at": START + pd.to_timedelta(hour * 3600 + rng.integers(0, 3600, hour.size), unit="s"),
            "sex": np.where(woman, "woman", "man"),
            "approved": np.where(rng.random(hour.size) < rate, "yes", "no"),
            "repaid": np.where(rng.random(hour.size) < 0.5, "yes", "no"),
        }
    )
