"""aequitas: the crosstabs of its `Group`, and the disparities of its `Bias`, of sex, race and sex × race."""

import pandas as pd
from aequitas.bias import Bias
from aequitas.group import Group
from measuring import REFERENCE_RACE, REFERENCE_SEX, crossed, run_side

REFERENCES = {"sex": REFERENCE_SEX, "race": REFERENCE_RACE, "sex_race": f"{REFERENCE_SEX} {REFERENCE_RACE}"}


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the columns under aequitas' names, with the intersection, which it does not build."""
    return pd.DataFrame(
        {
            "score": frame["prediction"],
            "label_value": frame["label"],
            "sex": frame["sex"],
            "race": frame["race"],
            "sex_race": crossed(frame),
        }
    )


def work(frame: pd.DataFrame) -> int:
    """Computes group metrics, then compares each group with the reference; no significance."""
    crosstab, _ = Group().get_crosstabs(frame, attr_cols=list(REFERENCES))
    disparities = Bias().get_disparity_predefined_groups(crosstab, original_df=frame, ref_groups_dict=REFERENCES)
    return int(disparities.select_dtypes("number").size)


if __name__ == "__main__":
    run_side("aequitas", prepare, work)
