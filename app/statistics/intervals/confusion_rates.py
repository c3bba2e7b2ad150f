"""Parts of a confusion matrix, and the rates of one part among another.

Arrays end in [actual, predicted], 0 unfavourable and 1 favourable.
"""

from ...base.values import frozen
from ..group_labels import AnyArray, FloatArray, divide
from .rate_estimates import RatePhrases

_ALL = _TN, _FP, _FN, _TP = (0, 0), (0, 1), (1, 0), (1, 1)
"""Cells [actual, predicted]."""

NO_LABELLED_RECORD = "no record{of} has a label and a prediction that are both among the outcomes"


@frozen
class CellPart:
    """Cells of a confusion matrix. `among` names their records, `empty` says that a group ({of}) has none."""

    cells: tuple[tuple[int, int], ...]
    among: str
    empty: str

    def sum_cells(self, cells: AnyArray) -> AnyArray:
        """Sums [...] the part of an array [..., 2, 2]."""
        if self.cells == _ALL:
            total: AnyArray = cells.sum((-2, -1))
            return total
        first, *further = (cells[..., actual, predicted] for actual, predicted in self.cells)
        return sum(further, first)


PARTS = {
    "records": CellPart(_ALL, "labelled records{of}", NO_LABELLED_RECORD),
    "actual_favourable": CellPart(
        (_FN, _TP), "records{of} with a favourable label", "no labelled record{of} has a favourable label"
    ),
    "actual_unfavourable": CellPart(
        (_TN, _FP),
        "records{of} with an unfavourable label",
        "no labelled record{of} has an unfavourable label",
    ),
    "predicted_favourable": CellPart(
        (_FP, _TP), "records{of} predicted favourable", "no labelled record{of} was predicted favourable"
    ),
    "predicted_unfavourable": CellPart(
        (_TN, _FN), "records{of} predicted unfavourable", "no labelled record{of} was predicted unfavourable"
    ),
    "true_positive": CellPart(
        (_TP,),
        "records{of} rightly predicted favourable",
        "no labelled record{of} was rightly predicted favourable",
    ),
    "false_positive": CellPart(
        (_FP,),
        "records{of} wrongly predicted favourable",
        "no labelled record{of} was wrongly predicted favourable",
    ),
    "true_negative": CellPart(
        (_TN,),
        "records{of} rightly predicted unfavourable",
        "no labelled record{of} was rightly predicted unfavourable",
    ),
    "false_negative": CellPart(
        (_FN,),
        "records{of} wrongly predicted unfavourable",
        "no labelled record{of} was wrongly predicted unfavourable",
    ),
    "any_favourable": CellPart(
        (_FP, _FN, _TP),
        "records{of} with a favourable label or prediction",
        "no labelled record{of} has a favourable label or prediction",
    ),
    "right": CellPart(
        (_TN, _TP), "records{of} rightly predicted", "no labelled record{of} was rightly predicted"
    ),
    "wrong": CellPart(
        (_FP, _FN), "records{of} wrongly predicted", "no labelled record{of} was wrongly predicted"
    ),
}
"""Parts by name."""


@frozen
class Rate:
    """Rate of the cells `counted` among those of `of_part`, keys of PARTS; `are` is the verb of the counted.

    If it `is_error`, the group of the higher rate is worse off in a comparison, else that of the lower.
    """

    counted: str
    of_part: str
    are: str
    is_error: bool = False

    @property
    def phrases(self) -> RatePhrases:
        whole_part = PARTS[self.of_part]
        among = whole_part.among.format(of="")
        zero = f"the reference rate is zero: of {{n}} reference {among} none {self.are}"
        return RatePhrases(self.counted, whole_part.empty, zero)


RATES = {
    "base": Rate("actual_favourable", "records", "have a favourable label"),
    "true_positive": Rate("true_positive", "actual_favourable", "were predicted favourable"),
    "false_negative": Rate(
        "false_negative", "actual_favourable", "were predicted unfavourable", is_error=True
    ),
    "false_positive": Rate(
        "false_positive", "actual_unfavourable", "were predicted favourable", is_error=True
    ),
    "true_negative": Rate("true_negative", "actual_unfavourable", "were predicted unfavourable"),
    "positive_predictive": Rate("true_positive", "predicted_favourable", "have a favourable label"),
    "false_discovery": Rate(
        "false_positive", "predicted_favourable", "have an unfavourable label", is_error=True
    ),
    "negative_predictive": Rate("true_negative", "predicted_unfavourable", "have an unfavourable label"),
    "false_omission": Rate(
        "false_negative", "predicted_unfavourable", "have a favourable label", is_error=True
    ),
    "right": Rate("right", "records", "were predicted the outcome of their label"),
    "error": Rate(
        "wrong", "records", "were predicted the other outcome than that of their label", is_error=True
    ),
}


def compute_rate(name: str, cells: FloatArray) -> FloatArray:
    """Rate [...] of an array [..., 2, 2]; NaN where the denominator is empty."""
    return divide_parts(cells, RATES[name].counted, RATES[name].of_part)


def divide_parts(cells: FloatArray, counted: str, of_part: str) -> FloatArray:
    """Ratio [...] of two parts of an array [..., 2, 2], by their keys in PARTS."""
    return divide(PARTS[counted].sum_cells(cells), PARTS[of_part].sum_cells(cells))
