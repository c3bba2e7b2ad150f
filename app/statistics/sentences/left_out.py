"""Records that a figure counts, the reasons why others are left out, and cautions on these."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Self

import numpy as np

from ...base.strict_json import JsonObject
from ...base.values import frozen_by_name
from ..group_labels import NEITHER, AnyArray, BoolArray, ComparedGroup, Groups, IntArray, find_positions
from ..intervals.rate_estimates import Share
from ..measures.measure_rates import measure_significance
from ..tables.count_table import OUTCOMES, GroupCounts, LabelledCells
from ..tables.strata_counts import count_keys

Marks = BoolArray
"""Mask of records."""

REASONS = {
    "time_impossible": "time that cannot be",
    "outside_period": "outside the period",
    "beyond_newest": "beyond the newest {newest}",
    "sampled_out": "not logged by sampling (about)",
    "thinned": "thinned because rates differ",
    "repeated_person": "later record of a person",
    "corrected_away": "taken away by a correction",
    "no_partner": "no partner in {other}",
    "no_prediction": "no prediction",
    "outcome_unlisted": "prediction in neither outcome list",
    "label_unlisted": "label in neither outcome list",
    "no_group": "{attribute} unknown or in no group",
    "unclassified": "no outcome in either list",
    "attribute_missing": "{attribute} unknown",
    "not_a_number": "{attribute} is not a number",
    "in_no_group": "{attribute} in no group",
    "no_label": "no label",
    "no_counted_label": "no label that counts",
    "no_score": "no score",
    "not_rescored": "not answered by the model",
    "not_compared": "in no check or not answered by the model",
    "not_mitigated": "no outcome of this mitigation",
    "not_checked": "in no check",
    "mixed_hour": "hour of several sampling rates",
    "mixed_revisions": "hour of several model revisions",
    "other_part": "another model revision or monitor version",
}
"""Texts of reasons by key; a record that several apply to is counted under the first one."""

ANSWERS = {
    "predictions": ("no_prediction", "outcome_unlisted"),
    "labels": ("no_label", "label_unlisted"),
    "scores": ("no_score", "outcome_unlisted"),
}
"""Reasons, by kind of answer, of a record without one, and with one in neither outcome list."""

ESTIMATED_REASONS = frozenset({"sampled_out"})
REASONS_BY_DESIGN = frozenset(
    {"outside_period", "beyond_newest", "other_part", "thinned", *ESTIMATED_REASONS}
)
REASONS_WITHOUT_GROUP = frozenset({"attribute_missing", "not_a_number", "in_no_group", "no_group"})

UNCLASSIFIED = 2
"""Code of an outcome that is neither favourable nor unfavourable."""

MIN_DIFFERENCE = 0.02
"""Difference of the shares left out on two sides from which a caution is written."""

MAX_P_VALUE = 0.01
"""Level of a caution, to be divided by the number of groups that are compared."""


@frozen_by_name
class CountedRecords:
    """Records that a figure counts, and those left out by reason, each by group and outcome [groups + 1, 3].

    Last are records of no known group. `answers` says whose outcomes they are, a key of ANSWERS or None.
    `words` complete the texts of reasons, `names` are those of groups in texts.
    """

    attribute: str
    groups: Groups
    counts: IntArray
    left_out: Mapping[str, IntArray]
    answers: str | None = "predictions"
    words: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str | None, str] = field(default_factory=dict)

    @property
    def has_rates(self) -> bool:
        return self.answers in ("predictions", "labels")

    @property
    def of(self) -> int:
        return self.counted + sum(int(cells.sum()) for cells in self.left_out.values())

    @property
    def counted(self) -> int:
        return int(self.counts.sum())

    @property
    def text(self) -> str:
        if self.of == self.counted:
            texts = {0: "No records.", 1: "The one record is counted."}
            return texts.get(self.of, f"All {self.of:,} records counted.")
        phrases = []
        for reason, text, cells in self._list_reasons():
            groups = [
                f"{self.names.get(name, name) or 'unknown'} {count:,}"
                for name, count in self._count_by_group(cells)
            ]
            is_bare = reason in REASONS_WITHOUT_GROUP or not cells[:-1].any()
            phrases.append(f"{text} {int(cells.sum()):,}" + ("" if is_bare else f" ({', '.join(groups)})"))
        return f"{self.counted:,} of {self.of:,} records counted; left out: {', '.join(phrases)}."

    @property
    def lines(self) -> list[str]:
        return list_lines({"text": self.text, "cautions": self.cautions()})

    def cautions(self) -> Iterator[JsonObject]:
        """Yields a caution for each group of which another share is left out than of the reference.

        Last come outcomes that differ in it. `left_out` and `of` count records of the group and of the
        reference, or of both outcomes, which have no `group` and `reference`.
        """
        lacking = self._sum_left_out(REASONS.keys() - REASONS_BY_DESIGN - REASONS_WITHOUT_GROUP)
        monitored = find_positions(self.groups, "monitored")
        reference = find_positions(self.groups, "reference")
        for position in monitored:
            sides = [
                np.array([cells[list(side)].sum(0) for side in ((position,), reference)])
                for cells in (lacking, self.counts)
            ]
            left_out, counted = (side.sum(1) for side in sides)
            compared = _compare_shares(left_out, left_out + counted, len(monitored))
            if compared:
                group, *reference_groups = (self.groups[row].label for row in (position, *reference))
                low, high, text = self._bound_ratio(left_out, counted, sides[1][:, 1])
                name = self.names.get(group, group)
                reference_names = ", ".join(self.names.get(label, label) for label in reference_groups)
                shares = (
                    f"{_write_share(compared, 0)} of 100 {name} are left out and "
                    f"{_write_share(compared, 1)} of 100 {reference_names}."
                )
                yield {
                    "group": group,
                    "reference": ", ".join(reference_groups),
                    **compared,
                    "ratio_low": low,
                    "ratio_high": high,
                    "text": f"Caution: {shares}{text}",
                }
        unknown = self._sum_left_out(REASONS_WITHOUT_GROUP).sum(0)[[1, 0]]
        compared = (
            _compare_shares(unknown, unknown + self.counts.sum(0)[[1, 0]], 1) if self.has_rates else None
        )
        if compared:
            shares = (
                f"{_write_share(compared, 0)} of 100 favourable and {_write_share(compared, 1)} of 100 "
                "unfavourable"
            )
            text = f"Caution: {shares} {self.answers} have no known {self.attribute}."
            yield {
                "group": None,
                "reference": None,
                **compared,
                "ratio_low": None,
                "ratio_high": None,
                "text": text,
            }

    def named(self, name: Callable[[str, str], str]) -> "CountedRecords":
        return replace(self, names={group.label: name(self.attribute, group.label) for group in self.groups})

    def plus(self, added: "CountedRecords") -> "CountedRecords":
        nobody = np.zeros_like(self.counts)
        return replace(
            self,
            counts=self.counts + added.counts,
            left_out={
                reason: self.left_out.get(reason, nobody) + added.left_out.get(reason, nobody)
                for reason in {**self.left_out, **added.left_out}
            },
        )

    def leave_out(self, reason: str, counts: IntArray) -> "CountedRecords":
        """Counts only `counts` [groups, 2], and leaves out all others for the reason."""
        cells = np.zeros_like(self.counts)
        cells[:-1, :UNCLASSIFIED] = counts
        return replace(self, counts=cells, left_out={**self.left_out, reason: self.counts - cells})

    def add_ungrouped(self, **counts: int) -> "CountedRecords":
        """Adds records without known group and outcome, by reason."""
        cells = {reason: np.zeros_like(self.counts) for reason in counts}
        for reason, count in counts.items():
            cells[reason][-1, UNCLASSIFIED] = count
        return self.plus(replace(self, counts=np.zeros_like(self.counts), left_out=cells))

    @classmethod
    def of_table(cls, attribute: str, table: GroupCounts | LabelledCells, answers: str | None) -> Self:
        """Counts of a stored table, which holds fewer reasons.

        It does not distinguish missing from unlisted outcomes, nor unknown values from those in no group.
        """
        names = ("counts", "unclassified", "label_unlisted", "no_group")
        cells = {name: np.zeros((len(table.groups) + 1, OUTCOMES), int) for name in names}
        outcomes = table.cells
        if isinstance(table, LabelledCells):
            labelled = table.cells.sum(-1)  # by label, then by prediction
            outcomes = labelled[:, :UNCLASSIFIED].sum(1)
            cells["label_unlisted"][:-1] = labelled[:-1, UNCLASSIFIED]
            cells["no_group"][-1] = labelled[-1, UNCLASSIFIED]
        cells["counts"][:-1, :UNCLASSIFIED] = outcomes[:-1, :UNCLASSIFIED]
        cells["unclassified"][:-1, UNCLASSIFIED] = outcomes[:-1, UNCLASSIFIED]
        cells["no_group"][-1] += outcomes[-1]
        return cls(
            attribute=attribute,
            groups=table.groups,
            counts=cells.pop("counts"),
            left_out=cells,
            answers=answers,
        )

    def to_json(self) -> JsonObject:
        counted = dict(self._count_by_group(self.counts))
        return {
            "of": self.of,
            "counted": self.counted,
            "left_out": [
                {
                    "reason": reason,
                    "text": text,
                    "count": int(cells.sum()),
                    "estimated": reason in ESTIMATED_REASONS,
                    "groups": [
                        {"group": name, "count": count} for name, count in self._count_by_group(cells)
                    ],
                }
                for reason, text, cells in self._list_reasons()
            ],
            "groups": [
                {"group": name, "of": records, "counted": counted.get(name, 0)}
                for name, records in self._count_by_group(self._sum_left_out(REASONS) + self.counts)
            ],
            "cautions": list(self.cautions()),
            "text": self.text,
        }

    def _list_reasons(self) -> Iterator[tuple[str, str, IntArray]]:
        for reason, text in REASONS.items():
            if reason in self.left_out and self.left_out[reason].any():
                yield reason, text.format(attribute=self.attribute, **self.words), self.left_out[reason]

    def _count_by_group(self, cells: IntArray) -> Iterator[tuple[str | None, int]]:
        names = [*(group.label for group in self.groups), None]
        return ((name, count) for name, count in zip(names, cells.sum(1).tolist(), strict=True) if count)

    def _sum_left_out(self, reasons: Collection[str]) -> IntArray:
        return sum(
            (cells for reason, cells in self.left_out.items() if reason in reasons),
            np.zeros_like(self.counts),
        )

    def _bound_ratio(
        self, left_out: IntArray, counted: IntArray, favourable: IntArray
    ) -> tuple[float | None, float | None, str]:
        """Lowest and highest ratio of rates as logged that the records left out allow, and a sentence."""
        if not (self.has_rates and favourable[1] and counted[0]):
            return None, None, ""
        of = left_out + counted
        low = float(favourable[0] / of[0] * (of[1] / (favourable[1] + left_out[1])))
        high = float((favourable[0] + left_out[0]) / of[0] * (of[1] / favourable[1]))
        ratio = float(favourable[0] / counted[0] * (counted[1] / favourable[1]))
        return low, high, f" Depending on them the ratio is {low:.2f} to {high:.2f}, not {ratio:.2f}."


def count_records(
    attribute: str,
    groups: Sequence[ComparedGroup],
    codes: AnyArray,
    outcomes: AnyArray,
    *,
    answers: str | None,
    lacks_answer: Marks,
    lacks_value: Marks | None = None,
    is_no_number: Marks | None = None,
    excluded: Mapping[str, Marks] | None = None,
    repeats: IntArray | None = None,
) -> CountedRecords:
    """Counts records by group (position, or -1), outcome (0, 1, 2) and the first reason to leave them out.

    `answers` is a key of ANSWERS; None: figures are no rates of predictions. `excluded` marks further records
    by reason. Without `lacks_value` there are no groups. `repeats`: each entry is that many equal records.
    """
    neither = outcomes == UNCLASSIFIED
    missing, unlisted = ANSWERS[answers or "predictions"]
    marks = {unlisted: neither & ~lacks_answer, missing: neither & lacks_answer, **(excluded or {})}
    if lacks_value is not None:
        has_no_group = codes == NEITHER
        marks |= {"attribute_missing": has_no_group & lacks_value, "in_no_group": has_no_group}
        if is_no_number is not None:
            marks["not_a_number"] = has_no_group & is_no_number
    reasons = [reason for reason in REASONS if reason in marks]
    shape = (len(reasons) + 1, len(groups) + 1, OUTCOMES)
    first = np.select([marks[reason] for reason in reasons], list(range(1, len(reasons) + 1)), 0)
    key = (first * shape[1] + codes.astype(int) % shape[1]) * OUTCOMES + outcomes
    cells, _ = count_keys(key, shape, None, repeats)
    return CountedRecords(
        attribute=attribute,
        groups=tuple(groups),
        counts=cells[0],
        left_out=dict(zip(reasons, cells[1:], strict=True)),
        answers=answers,
    )


def list_lines(records: Mapping[str, Any]) -> list[str]:
    return [records["text"], *(caution["text"] for caution in records["cautions"])]


def add_lost_records(records: Mapping[str, Any], *, rejected: int, dropped: int, erased: int) -> JsonObject:
    """Adds to the JSON and text of counted records what was rejected, dropped or erased."""
    missing = {"rejected": rejected, "dropped": dropped, "erased": erased}
    phrases = ("rejected at ingestion", "dropped by clients", "erased since")
    lost = [f"{count:,} {phrase}" for count, phrase in zip(missing.values(), phrases, strict=True) if count]
    addition = f" Not among them: {', '.join(lost)}." if lost else ""
    return dict(records) | {"not_among": missing, "text": records["text"] + addition}


def _compare_shares(left_out: IntArray, of: IntArray, comparisons: int) -> JsonObject | None:
    """Compares the shares left out [2]; None if they are about equal or may differ by chance."""
    if not of.all() or abs(np.subtract(*(left_out / of))) < MIN_DIFFERENCE:
        return None
    shares = [
        Share(count=count, total=total, original=total)
        for count, total in zip(left_out.tolist(), of.tolist(), strict=True)
    ]
    p_value = measure_significance(*shares, pairs=1).p_value
    if p_value < MAX_P_VALUE / comparisons:
        return {"left_out": left_out.tolist(), "of": of.tolist(), "p": p_value}
    return None


def _write_share(compared: Mapping[str, Any], side: int) -> str:
    return f"{100 * compared['left_out'][side] / compared['of'][side]:.1f}"
