"""fairlearn: the selection rate of every cell of sex × race, as in its user guide."""

import pandas as pd
from fairlearn.metrics import MetricFrame, selection_rate
from measuring import run_side


def work(frame: pd.DataFrame) -> int:
    """Computes the rate overall, by group, and the difference and ratio between the groups."""
    measured = MetricFrame(
        metrics=selection_rate, y_true=frame["label"], y_pred=frame["prediction"], sensitive_features=frame[["sex", "race"]]
    )
    return len(measured.by_group) + len([measured.overall, measured.difference(), measured.ratio()])


if __name__ == "__main__":
    run_side("fairlearn", lambda frame: frame, work)
