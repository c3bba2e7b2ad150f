"""Records that a figure counts, and why the others of its range are left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .comparisons import Share
from .groups import NEITHER, ComparedGroup, Groups, IntArray, of_role
from .rates import significance
from .tables.count_table import OUTCOMES
from .tables.weighting import count_keys, slices

Marks: TypeAlias = npt.NDArray[np.bool_]

REASONS: Mapping[str, str] = {
    "time_impossible": "time that cannot be",
    "outside_period": "outside the period",
    "beyond_newest": "beyond the newest {newest}",
    "repeated_person": "later record of a person",
    "no_prediction": "no prediction",
    "outcome_unlisted": "prediction in neither outcome list",
    "label_unlisted": "label in neither outcome list",
    "attribute_missing": "{attribute} unknown",
    "not_a_number": "{attribute} is not a number",
    "in_no_group": "{attribute} in no group",
    "no_label": "no label",
    "no_score": "no score",
}
"""Text of each reason, in the order in which the first that applies is a record's own."""

ANSWERS = {
    "predictions": ("no_prediction", "outcome_unlisted"),
    "labels": ("no_label", "label_unlisted"),
    "scores": ("no_score", "outcome_unlisted"),
}
"""Reasons of a record without an answer, and with one in neither outcome list."""

BY_DESIGN = frozenset({"outside_period", "beyond_newest"})
WITHOUT_GROUP = frozenset({"attribute_missing", "not_a_number", "in_no_group"})

UNCLASSIFIED = 2

MIN_DIFFERENCE = 0.02
"""Min difference of the shares left out that a caution names."""

MAX_P_VALUE = 0.01
"""Max p value of a caution, divided by the number of groups that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """Shares left out that differ: `left_out` and `of` count the group's records and the reference's.

    Of outcomes, group and reference are None. `ratios` are the lowest, the highest and the present one, of rates as logged.
    """

    group: str | None
    reference: str | None
    left_out: tuple[int, int]
    of: tuple[int, int]
    p_value: float
    ratios: tuple[float, float, float] | None
    text: str

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "reference": self.reference,
            "left_out": list(self.left_out),
            "of": list(self.of),
            "p": self.p_value,
            "ratio_low": None if self.ratios is None else self.ratios[0],
            "ratio_high": None if self.ratios is None else self.ratios[1],
            "text": self.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRecords:
    """Records of a range by group and outcome [groups + 1, 3], the last row of no known group: counted ones, and others by reason.

    `outcomes` names them, predictions or labels; None if the headline is not a rate of these. `words` complete the texts of reasons.
    """

    attribute: str
    groups: Groups
    counts: IntArray
    left_out: Mapping[str, IntArray]
    outcomes: str | None = "predictions"
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def of(self) -> int:
        return self.counted + sum(int(cells.sum()) for cells in self.left_out.values())

    @property
    def counted(self) -> int:
        return int(self.counts.sum())

    @property
    def text(self) -> str:
        """The left-out line."""
        if self.of == self.counted:
            return {0: "No records.", 1: "The one record is counted."}.get(self.of, f"All {self.of:,} records counted.")
        parts = (f"{text} {int(cells.sum()):,}{self._name_groups(reason, cells)}" for reason, text, cells in self._reasons())
        return f"{self.counted:,} of {self.of:,} records counted; left out: {', '.join(parts)}."

    @property
    def lines(self) -> list[str]:
        """The left-out line and the cautions."""
        return [self.text, *(caution.text for caution in self.cautions)]

    @property
    def cautions(self) -> list[Caution]:
        """Groups, and last outcomes, of which another share is left out than of the reference."""
        monitored = of_role(self.groups, "monitored")
        reference = list(of_role(self.groups, "reference"))
        found = [self._compare([place], reference, len(monitored)) for place in monitored] if reference else []
        return [caution for caution in (*found, self._compare_outcomes()) if caution is not None]

    def to_json(self) -> dict[str, Any]:
        names = [*(group.label for group in self.groups), None]
        by_group = self.counts.sum(axis=1)
        of = by_group + sum(cells.sum(axis=1) for cells in self.left_out.values())
        return {
            "of": self.of,
            "counted": self.counted,
            "left_out": [
                {"reason": reason, "text": text, "count": int(cells.sum()), "estimated": False, "groups": list(self._by_group(cells))}
                for reason, text, cells in self._reasons()
            ],
            "groups": [
                {"group": name, "of": whole, "counted": part}
                for name, whole, part in zip(names, of.tolist(), by_group.tolist(), strict=True)
                if name is not None or whole
            ],
            "cautions": [caution.to_json() for caution in self.cautions],
            "text": self.text,
        }

    def _reasons(self) -> Iterator[tuple[str, str, IntArray]]:
        for reason, text in REASONS.items():
            if reason in self.left_out and self.left_out[reason].any():
                yield reason, text.format(attribute=self.attribute, **self.words), self.left_out[reason]

    def _by_group(self, cells: IntArray) -> Iterator[dict[str, Any]]:
        names = [*(group.label for group in self.groups), None]
        for name, count in zip(names, cells.sum(axis=1).tolist(), strict=True):
            if count:
                yield {"group": name, "count": count}

    def _name_groups(self, reason: str, cells: IntArray) -> str:
        if reason in WITHOUT_GROUP or not cells[:-1].any():
            return ""
        parts = (f"{'unknown' if part['group'] is None else part['group']} {part['count']:,}" for part in self._by_group(cells))
        return f" ({', '.join(parts)})"

    def _compare(self, monitored: list[int], reference: list[int], compared: int) -> Caution | None:
        lacking = sum(
            (cells for reason, cells in self.left_out.items() if reason not in BY_DESIGN | WITHOUT_GROUP), np.zeros_like(self.counts)
        )
        sides = (monitored, reference)
        x, n = ([int(cells[side].sum()) for side in sides] for cells in (lacking, lacking + self.counts))
        p_value = _test_shares(x, n, compared)
        if p_value is None:
            return None
        group, other = (", ".join(self.groups[place].label for place in side) for side in sides)
        text = f"Caution: {_per_hundred(x[0], n[0])} of 100 {group} are left out and {_per_hundred(x[1], n[1])} of 100 {other}."
        favourable = [int(self.counts[side, 1].sum()) for side in sides]
        ratios = None
        if self.outcomes and favourable[1] and n[0] > x[0]:
            low = favourable[0] / n[0] / ((favourable[1] + x[1]) / n[1])
            high = (favourable[0] + x[0]) / n[0] / (favourable[1] / n[1])
            present = favourable[0] / (n[0] - x[0]) / (favourable[1] / (n[1] - x[1]))
            ratios = (low, high, present)
            text += f" Depending on them the ratio is {low:.2f} to {high:.2f}, not {present:.2f}."
        return Caution(group=group, reference=other, left_out=(x[0], x[1]), of=(n[0], n[1]), p_value=p_value, ratios=ratios, text=text)

    def _compare_outcomes(self) -> Caution | None:
        lacking = sum(
            (cells.sum(axis=0) for reason, cells in self.left_out.items() if reason in WITHOUT_GROUP), np.zeros(OUTCOMES, np.int64)
        )
        x = lacking[[1, 0]].tolist()
        n = (lacking + self.counts.sum(axis=0))[[1, 0]].tolist()
        p_value = None if self.outcomes is None else _test_shares(x, n, 1)
        if p_value is None:
            return None
        shares = f"{_per_hundred(x[0], n[0])} of 100 favourable and {_per_hundred(x[1], n[1])} of 100 unfavourable"
        text = f"Caution: {shares} {self.outcomes} have no known {self.attribute}."
        return Caution(group=None, reference=None, left_out=(x[0], x[1]), of=(n[0], n[1]), p_value=p_value, ratios=None, text=text)


def count_records(
    attribute: str,
    groups: Sequence[ComparedGroup],
    codes: npt.NDArray[Any],
    outcomes: npt.NDArray[Any],
    *,
    of: str | None,
    lacks_answer: Marks | None = None,
    lacks_value: Marks | None = None,
    is_no_number: Marks | None = None,
    others: Mapping[str, Marks] | None = None,
    repeats: IntArray | None = None,
) -> CountedRecords:
    """Counts records by their group (position, or -1), their outcome (0, 1, 2) and the first reason for which they are left out.

    `of` says whose the outcomes are, as the keys of ANSWERS; None: figures of other things than rates. `others` mark further records by
    reason. Without `lacks_value` there are no groups. With `repeats`, each entry is that many equal records.
    """
    nobody = np.zeros(codes.size, np.bool_)
    is_unclassified, lacks = outcomes == UNCLASSIFIED, nobody if lacks_answer is None else lacks_answer
    missing, unlisted = ANSWERS[of or "predictions"]
    marks = {unlisted: is_unclassified & ~lacks, missing: is_unclassified & lacks, **(others or {})}
    if lacks_value is not None:
        has_no_group = codes == NEITHER
        marks |= {"attribute_missing": has_no_group & lacks_value, "in_no_group": has_no_group}
        marks["not_a_number"] = nobody if is_no_number is None else has_no_group & is_no_number
    reasons = [reason for reason in REASONS if reason in marks]
    shape = (len(reasons) + 1, len(groups) + 1, OUTCOMES)
    cells = np.zeros(shape, np.int64)
    for part in slices(codes.size):
        first = np.select([marks[reason][part] for reason in reasons], list(range(1, len(reasons) + 1)), 0)
        # Turns -1, the code of no group, into the row after the last group.
        key = (first * shape[1] + codes[part].astype(np.int64) % shape[1]) * OUTCOMES + outcomes[part]
        cells += count_keys(key, shape, None, None if repeats is None else repeats[part])[0]
    counted, *left_out = cells
    rates_of = None if of == "scores" else of
    return CountedRecords(
        attribute=attribute,
        groups=tuple(groups),
        counts=counted,
        left_out=dict(zip(reasons, left_out, strict=True)),
        outcomes=rates_of,
    )


def _test_shares(x: Sequence[int], n: Sequence[int], compared: int) -> float | None:
    """P value of two shares left out, if they differ so much that a caution is due."""
    if 0 in n or abs(x[0] / n[0] - x[1] / n[1]) < MIN_DIFFERENCE:
        return None
    one, other = (Share(count=count, total=total, original=total) for count, total in zip(x, n, strict=True))
    p_value = significance(one, other, pairs=1).p_value
    return p_value if p_value < MAX_P_VALUE / compared else None


def _per_hundred(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}"
