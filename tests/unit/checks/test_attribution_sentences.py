"""Sentences about what carries a gap, and about why one changed: true in each case."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from syrupy.assertion import SnapshotAssertion

from app.evidence.attribution.attribution import (
    AttributedGap,
    AttributionResult,
    CellsOfFeature,
    ChangedGap,
    ChangedParts,
    HybridShares,
    Method,
    PartOfGap,
    PeriodCounts,
    ResampledUnits,
    RevisionBoundary,
    ShareOfPlayer,
    SideCounts,
)
from app.evidence.attribution.words import say_change, say_gap, say_points, say_result
from tests.builders.page_words import says

AT = datetime(2026, 11, 19, 7, tzinfo=UTC)
WOMEN, MEN = SideCounts(label="woman", favourable=40, records=100), SideCounts(label="man", favourable=60, records=100)
SURE = PartOfGap(value=-0.15, low=-0.2, high=-0.1)
RESULT = AttributionResult(
    method=Method.HYBRIDS, model_revision="1", monitor_version=1, records=0, additional_records=0, other_revisions=0, unclassified=0
)


def shares(*found: tuple[str, float], sampling: float = 0.0, left_out: int = 0, differing: int = 0, pairs: int = 500) -> HybridShares:
    return HybridShares(
        gap_of_pairs=-0.2,
        sum_of_shares=-0.2,
        sampling=sampling,
        pairs=pairs,
        pairs_left_out=left_out,
        resampled=ResampledUnits.PAIRS,
        compared=100,
        differing=differing,
        shares=tuple(ShareOfPlayer(features=(name,), share=PartOfGap(value=value, low=None, high=None)) for name, value in found),
    )


def gap(hybrids: HybridShares | None = None, cells: tuple[CellsOfFeature, ...] = ()) -> AttributedGap:
    return AttributedGap(features=("sex",), monitored=WOMEN, reference=MEN, gap=-0.2, hybrids=hybrids, cells=cells)


def test_a_gap_is_carried_by_features_never_caused(snapshot: SnapshotAssertion) -> None:
    both = replace(shares(), shares=(ShareOfPlayer(features=("income", "tax"), share=SURE),))

    said = list(say_gap(gap(both)))

    assert says(said[0], "100", "woman", "40.0", "100", "man", "60.0", "−20.0")
    assert says(said[1], "500", "−20.0", "−15.0", "95", "−20.0", "−10.0", "income", "tax")
    assert said == snapshot


def test_a_gap_and_its_rates_agree_as_they_are_shown(snapshot: SnapshotAssertion) -> None:
    few = SideCounts(label="woman", favourable=23, records=64), SideCounts(label="man", favourable=577, records=716)

    # With one digit, 35.9 less 80.6 would be a gap of −44.6.
    assert says(
        text := next(say_gap(replace(gap(), monitored=few[0], reference=few[1]))), "100", "woman", "35.94", "100", "man", "80.59", "−44.65"
    )
    assert text == snapshot


def test_a_favoured_group_and_a_reference_of_all_others_are_worded(snapshot: SnapshotAssertion) -> None:
    favoured = replace(gap(shares(("age", 0.2))), monitored=MEN, reference=replace(WOMEN, label=None), gap=0.2)

    assert says(text := next(say_gap(favoured)), "man", "60.0", "40.0", "+20.0")
    assert text == snapshot


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (shares(("age", 0.0)), "The gap of 500 sampled pairs is −20.0 points; no feature carries any of it."),
        (
            shares(("a", -0.1), ("b", -0.05), ("c", -0.04), ("d", -0.01), pairs=1),
            (
                "The gap of 1 sampled pair is −20.0 points, by feature: −10.0 points by a, −5.0 points by b, −4.0 points by c, −1.0"
                " points by d."
            ),
        ),
        (
            shares(("a", -0.1), ("b", -0.05), ("c", -0.04), ("d", -0.01), ("e", 0.004), ("f", 0.002), ("g", 0.0)),
            (
                "The gap of 500 sampled pairs is −20.0 points, by feature: −10.0 points by a, −5.0 points by b, −4.0 points by c, −1.0"
                " points by d, +0.6 points by other 2."
            ),
        ),
        (
            shares(("a", -0.2), sampling=0.004),
            "The gap of all records differs from that of the pairs by +0.4 points, from the choice of pairs (sampling).",
        ),
        (
            shares(("a", -0.2), left_out=1),
            "1 pair was left out, because the model refused a row or gave an answer that is in neither outcome list.",
        ),
        (
            shares(("a", -0.2), left_out=1200),
            "1,200 pairs were left out, because the model refused a row or gave an answer that is in neither outcome list.",
        ),
        (
            shares(("a", -0.2), differing=12),
            (
                "The model now answers 12 of 100 logged records differently. If it is another model than the logged one, "
                "the shares describe neither of them."
            ),
        ),
        (None, "For no pair did the model answer every row with an outcome of either list, so nothing is attributed."),
    ],
)
def test_each_doubt_has_its_sentence(found: HybridShares | None, said: str) -> None:
    assert said in list(say_gap(gap(found)))


def test_cells_name_the_feature_that_who_applies_carries_most_by(snapshot: SnapshotAssertion) -> None:
    def cells(feature: str, who: float, alone: float) -> CellsOfFeature:
        parts = [PartOfGap(value=value, low=None, high=None) for value in (who, -0.2 - who - alone, alone)]
        return CellsOfFeature(feature=feature, cells=3, who_applies=parts[0], how_treated=parts[1], no_counterpart=parts[2])

    said = list(say_gap(gap(cells=(cells("age", 0.01, 0.0), cells("income", -0.15, -0.02)))))

    assert says(said[1:][0], "income", "−15.0", "−3.0", "−2.0")
    assert said[1:] == snapshot


def test_a_window_without_a_gap_says_so(snapshot: SnapshotAssertion) -> None:
    assert say_result(RESULT) == snapshot


@pytest.mark.parametrize(("value", "said"), [(0.0, "0.0 points"), (-0.0004, "0.0 points"), (0.0123, "+1.2 points"), (-1, "−100.0 points")])
def test_points_have_a_sign_and_are_never_minus_nothing(value: float, said: str) -> None:
    assert say_points(value) == said


def period(gap: float | None) -> PeriodCounts:
    return PeriodCounts(monitored=WOMEN, reference=MEN, first=AT, last=AT, revisions={"1": 200}, gap=gap)


def change(before: float | None = -0.05, after: float | None = -0.2, who: float = -0.01) -> ChangedGap:
    parts = [
        ChangedParts(
            feature=name,
            who_asked=own,
            how_answered=-0.15 - own,
            no_counterpart=0.0,
            who_asked_log_ratio=None,
            how_answered_log_ratio=None,
            no_counterpart_log_ratio=None,
        )
        for name, own in (("age", who / 2), ("income", who))
    ]
    known = before is not None and after is not None
    return ChangedGap(
        attribute="sex",
        group="woman",
        at=AT,
        before=period(before),
        after=period(after),
        boundary=None,
        features=tuple(parts) if known else (),
    )


def test_a_change_says_how_far_who_asked_and_how_the_model_answers_carry_it(snapshot: SnapshotAssertion) -> None:
    assert says(
        text := say_change(change()),
        "woman",
        "sex",
        "reference",
        "−5.0",
        "2026-11-19 07:00 UTC",
        "−20.0",
        "income",
        "−1.0",
        "income",
        "−14.0",
        "income",
    )
    assert text == snapshot


@pytest.mark.parametrize(
    ("before", "after", "grew"),
    [
        (-0.05, -0.2, True),
        (0.05, 0.2, True),
        (0.05, -0.2, True),
        (-0.3, -0.2, False),
        (0.3, 0.2, False),
        (-0.2, -0.2, False),
    ],
)
def test_only_a_gap_that_grew_looks_as_if_it_grew_more(before: float, after: float, *, grew: bool) -> None:
    said = say_change(change(before, after))

    assert ("so the change looks larger" in said) == grew
    assert ("The gap did not grow." in said) != grew


def test_a_change_names_the_boundary_of_the_revision(snapshot: SnapshotAssertion) -> None:
    boundary = RevisionBoundary(before="r1", after="r2", at=AT)

    said = say_change(replace(change(), boundary=boundary))

    assert says(said, "r1", "r2", "2026-11-19 07:00 UTC")
    assert said == snapshot


@pytest.mark.parametrize(
    ("before", "after", "when"),
    [
        (None, -0.2, "before 2026-11-19 07:00 UTC"),
        (-0.2, None, "from 2026-11-19 07:00 UTC on"),
        (None, None, "before 2026-11-19 07:00 UTC"),
    ],
)
def test_a_side_without_records_is_named(before: float | None, after: float | None, when: str, snapshot: SnapshotAssertion) -> None:
    assert says(text := say_change(change(before, after)), "woman", "sex", "woman", "reference", str(when))
    assert text == snapshot


def test_an_alert_from_the_first_counted_hour_says_that_nothing_was_before(snapshot: SnapshotAssertion) -> None:
    found = replace(change(None, -0.2), reaches_first_hour=True)

    assert says(text := say_change(found), "woman", "sex")
    assert text == snapshot
    # What an earlier revision answered can be compared with.
    assert "went from −5.0 points" in say_change(replace(change(), reaches_first_hour=True))


def test_a_change_without_a_feature_to_divide_by_still_says_its_size(snapshot: SnapshotAssertion) -> None:
    assert says(text := say_change(replace(change(), features=())), "woman", "−5.0", "−20.0")
    assert text == snapshot
