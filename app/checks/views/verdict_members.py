"""Members in addition to a verdict."""

from typing import Any

from ...domain.check import Measurement
from ...statistics.sentences.statements import gap_statement, limit_statement
from .explain_figure import describe_measurement, judged_figure

VERDICT = (
    "`fair`: inside the limits with the whole interval. `undecided`: inside, but the interval reaches "
    "outside. `unwatched`: inside the one"
    " limit that is set with the whole interval, but beyond its mirror image (1/limit of a ratio, -limit of "
    "a difference) on the side that"
    " has none. `suspected`: outside, but the interval reaches inside. `unfair`: outside with the whole "
    "interval; both, of one of several"
    " groups, by the interval that allows for the choice among them. `insufficient_data`, `not_computable`: "
    "nothing is judged."
    " Null where no limit is set. OpenScale's fairness is judged by its value alone, as there."
)
DISADVANTAGED = (
    "Who gets the favourable outcome less often than the limits, and the mirror image of a lone one, allow: "
    "`monitored`, `reference`, or"
    " `nobody` inside them; by the value, whether or not chance may explain it. Null where nothing is "
    "judged and where the metric does"
    " not say who is favoured (accuracy, distances, figures of everybody). In the scope `worst_pair` the "
    "two are the sides of"
    " `details`, whatever their role."
)
DISADVANTAGED_GROUP = "Its name; null where `disadvantaged` is `nobody` or null."
GAP = (
    "Whether there is a gap at all: by the p-value, or where there is none by the interval, of several "
    "groups allowing for the choice among"
    " them. Null where that cannot be asked."
)
BEYOND_LIMIT = "Whether the value is beyond a limit, and how sure that is."


def derive_members(measurement: Measurement) -> dict[str, Any]:
    figure = judged_figure(measurement)
    return {
        "disadvantaged": figure.disadvantaged,
        "disadvantaged_group": figure.disadvantaged_group,
        "sentence": describe_measurement(measurement),
        "gap": gap_statement(figure),
        "beyond_limit": limit_statement(figure),
    }
