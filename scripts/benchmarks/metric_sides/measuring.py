"""One side of `scripts/bench metrics`: makes the rows, works on request, and reports seconds and memory.

Runs in any interpreter that has numpy and pandas; the parent writes one line per pass to standard input and reads one line of JSON back.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SEXES = np.array(["Female", "Male"], dtype=object)
SEX_SHARES = (0.33, 0.67)
RACES = np.array(["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"], dtype=object)
RACE_SHARES = (0.01, 0.03, 0.095, 0.01, 0.855)
YEARS = 16

REFERENCE_SEX, REFERENCE_RACE = "Male", "White"

FACETS = ("sex", "race", "sex_race")
"""The last as the single column that most of the libraries need for sex × race."""

Prepare = Callable[[pd.DataFrame], Any]
Work = Callable[[Any], int]


def make_frame(rows: int, seed: int) -> pd.DataFrame:
    """Returns seeded rows: sex and race as strings, years of education, score, prediction and label; no weights."""
    draw = np.random.default_rng(seed)
    sex = draw.choice(len(SEXES), rows, p=SEX_SHARES).astype(np.int8)
    race = draw.choice(len(RACES), rows, p=RACE_SHARES).astype(np.int8)
    years = draw.integers(1, YEARS + 1, rows)
    leaning = 0.8 * (sex == 1) + 0.3 * (race == len(RACES) - 1) + 0.25 * (years - 10) - 1.2
    score = 1 / (1 + np.exp(-(leaning + draw.normal(0, 1, rows))))
    return pd.DataFrame(
        {
            "sex": SEXES[sex],
            "race": RACES[race],
            "education": years,
            "label": (draw.random(rows) < score).astype(np.int64),
            "prediction": (score > 0.5).astype(np.int64),  # noqa: PLR2004 - the model's cut-off
            "score": score,
        }
    )


def crossed(frame: pd.DataFrame) -> np.ndarray:
    sex, sexes = pd.factorize(frame["sex"])
    race, races = pd.factorize(frame["race"])
    names = np.array([f"{one} {other}" for one in sexes for other in races], dtype=object)
    return np.asarray(names[sex * len(races) + race])


def run_side(package: str | None, prepare: Prepare, work: Work) -> None:
    """Makes the rows, warms up, then does one pass per line of standard input.

    Of `package` the version is reported. `prepare` returns what its users would already have: it is not timed, and its memory belongs to
    the baseline.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options, _ = parser.parse_known_args()
    warnings.simplefilter("ignore")  # the libraries warn about each other's versions
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    prepared = prepare(make_frame(options.rows, options.seed))
    baseline = _forget_peak()
    figures = work(prepared)
    # Of the warm-up alone: aif360 keeps every data set it has measured.
    peak = _peak_megabytes()
    about = {"version": version(package) if package else "", "figures": figures, "baseline_mb": baseline, "peak_mb": peak}
    print(json.dumps(about), file=answers, flush=True)
    for _ in sys.stdin:
        gc.collect()
        start = time.perf_counter()
        work(prepared)
        print(json.dumps({"seconds": time.perf_counter() - start}), file=answers, flush=True)


def _forget_peak() -> float:
    """Returns the memory held now, in megabytes. On Linux, first drops the memory freed after making the rows, and the peak."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak_megabytes()


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
