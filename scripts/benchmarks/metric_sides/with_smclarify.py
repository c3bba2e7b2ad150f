"""smclarify: its post-training bias report without the flip test, of one facet (women and others) or, with `--every`, of each value."""

import sys

import pandas as pd
from measuring import FACETS, crossed, run_side
from smclarify.bias.report import FacetColumn, LabelColumn, StageType, bias_report

METRICS = ["AD", "CDDPL", "DAR", "DCA", "DCR", "DI", "DPPL", "DRR", "GE", "RD", "SD", "TE"]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows with the intersection, which smclarify does not build."""
    return frame.assign(sex_race=crossed(frame))


def every_facet(frame: pd.DataFrame) -> int:
    return sum(report(frame, FacetColumn(name)) for name in FACETS)


def one_facet(frame: pd.DataFrame) -> int:
    """Makes one report, as a SageMaker Clarify job does."""
    return report(frame, FacetColumn("sex", ["Female"]))


def report(frame: pd.DataFrame, facet: FacetColumn) -> int:
    reports = bias_report(
        frame,
        facet,
        LabelColumn("label", frame["label"], [1]),
        StageType.POST_TRAINING,
        LabelColumn("prediction", frame["prediction"], [1]),
        metrics=METRICS,
        group_variable=frame["education"],
    )
    measured = [metric for report in reports for metric in report["metrics"]]
    failed = [metric for metric in measured if "error" in metric]
    if failed:
        raise RuntimeError(failed)
    return len(measured)


if __name__ == "__main__":
    run_side("smclarify", prepare, every_facet if sys.argv[1:2] == ["--every"] else one_facet)
