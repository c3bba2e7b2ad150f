"""Our side: the whole catalogue with intervals, on sex × race, on sex and on race, from the same frame, including tabulation."""

import pandas as pd
from measuring import REFERENCE_RACE, REFERENCE_SEX, run_side

from app.library.measurements import measure_attributes

DRAWS = 1000
REFERENCES = {"sex": REFERENCE_SEX, "race": REFERENCE_RACE}


def work(frame: pd.DataFrame) -> int:
    """Measures everything except the metrics of the rows themselves."""
    reports = measure_attributes(
        frame,
        attributes=list(REFERENCES),
        label="label",
        prediction="prediction",
        score="score",
        strata="education",
        reference=REFERENCES,
        draws=DRAWS,
    )
    return sum(len(report.measured) for report in reports.values())


if __name__ == "__main__":
    run_side(None, lambda frame: frame, work)
