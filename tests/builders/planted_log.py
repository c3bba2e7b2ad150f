"""A DataFrame of decisions that treat one subgroup worse, which nobody listed."""

import numpy as np
import pandas as pd

START = pd.Timestamp("2026-10-05T00:00:00Z")


def log(hours: int = 120, *, ratio: float = 0.5, seed: int = 1, records: int = 60) -> pd.DataFrame:
    """Decisions of which those about young people of the north are that much less often favourable."""
    rng = np.random.default_rng(seed)
    hour = np.repeat(np.arange(hours), records)
    age, region = rng.integers(18, 80, hour.size), rng.choice(["north", "south", "west"], hour.size)
    planted = (age <= 33) & (region == "north")
    return pd.DataFrame(
        {
            "at": START + pd.to_timedelta(hour, unit="h"),
            "age": age,
            "region": region,
            "job": rng.choice(["a", "b"], hour.size),
            "approved": np.where(rng.random(hour.size) < np.where(planted, 0.5 * ratio, 0.5), "yes", "no"),
        }
    )
