"""What probabilities say: against aif360 and scikit-learn, worked by hand, and how often the intervals hold the truth."""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.builders.page_words import says

pytest.importorskip("sklearn", reason="scikit-learn, which figures are compared with, is not installed")

from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from app.statistics.formulas.score_distances import EQUALIZED_ODDS
from app.statistics.formulas.score_figures import COUNTS, FIGURES
from app.statistics.group_labels import FloatArray, IntArray, Role, align_groups
from app.statistics.intervals.verdicts import Measured, Value
from app.statistics.measures.measure_rates import add_caution
from app.statistics.measures.measure_scores import measure_scores
from app.statistics.tables import score_bins
from app.statistics.tables.count_table import LabelledCells
from app.statistics.tables.score_bins import MAX_BINS, ScoreBins, decode_keys, encode_scores
from app.statistics.tables.score_table import LARGEST_LOSS, ScoreTable
from tests.builders.results import found, reason, value
from tests.golden import golden

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]
WANTED = {key: f"formula of {key}" for key in (*COUNTS, *FIGURES, EQUALIZED_ODDS)}
GENERALIZED = [key for key in WANTED if key.startswith("generalized_") and key != EQUALIZED_ODDS]
EXACT = 1e-9


def measured(table: ScoreTable) -> list[Measured]:
    return [add_caution(result) for result in measure_scores(table, table.groups, WANTED)]


def merged_tables(tables: Sequence[ScoreTable]) -> ScoreTable:
    groups, rows = align_groups([table.groups for table in tables])
    return ScoreTable.place(tables, rows, groups)


def drawn(random: np.random.Generator, size: int, share: float = 0.5, shift: float = 0.0) -> tuple[IntArray, IntArray, FloatArray]:
    """Records of two groups: codes, labels, and scores that promise the monitored group too much by `shift` in the logit."""
    codes = (random.random(size) >= share).astype(np.int64)
    logits = random.normal(codes - 0.5, 1.5)
    actual = (random.random(size) < 1 / (1 + np.exp(-logits))).astype(np.int64)
    return codes, actual, 1 / (1 + np.exp(-logits - np.where(codes == 0, shift, 0.0)))


@pytest.mark.parametrize(
    ("case", "facet"),
    [
        ("A1_adult", "sex=Female"),
        ("A1_adult", "race=Black"),
        ("A2_openscale_credit_risk", "Sex=female"),
        ("A2_openscale_credit_risk", "AgeGroup=18-25"),
    ],
)
def test_the_generalised_figures_are_those_of_aif360(case: str, facet: str) -> None:
    folder = golden(case)
    rows, (column, label) = pd.read_csv(folder / "predictions.csv"), facet.split("=")
    figures = json.loads((folder / "aif360.json").read_text())["facets"][facet]
    spec = next(each for each in json.loads((folder / "spec.json").read_text())["facets"] if each["id"] == facet)
    groups: list[tuple[str, Role]] = [(label, "monitored"), (spec["reference"][0], "reference")]
    codes = rows[column].map({name: code for code, (name, _) in enumerate(groups)}).fillna(-1).astype(int)

    results = measured(ScoreTable.from_records(groups, codes, rows["label"], rows["score"]))

    for part, scope, group in (("overall", "overall", None), ("unprivileged", "group", label), ("privileged", "reference", None)):
        for key in GENERALIZED:
            golden_key = key.replace("generalized_", "num_generalized_").replace("_count", "s") if key.endswith("_count") else key
            assert value(results, key, scope, group).value == pytest.approx(figures[part][golden_key], rel=EXACT, abs=EXACT), key
    assert value(results, EQUALIZED_ODDS, "group", label).value == pytest.approx(figures["pair"][EQUALIZED_ODDS], abs=EXACT)


@pytest.mark.parametrize("case", ["E01_baseline", "E05_d_no_false_positive", "E12_simpson_two_strata"])
def test_the_generalised_figures_of_the_edge_cases_are_those_of_aif360(case: str) -> None:
    figures = json.loads(golden("A3_edge_cases.json").read_text())["cases"][case]
    rows = pd.DataFrame(figures["rows"])
    rows = rows.loc[rows.index.repeat(rows["count"])]
    groups: list[tuple[str, Role]] = [("d", "monitored"), ("a", "reference")]

    results = measured(ScoreTable.from_records(groups, (rows["group"] == "a").astype(int), rows["label"], rows["score"]))

    for part, group in (("unprivileged", "d"), ("privileged", "a")):
        for key in GENERALIZED:
            golden_key = key.replace("generalized_", "num_generalized_").replace("_count", "s") if key.endswith("_count") else key
            assert value(results, key, "group", group).value == pytest.approx(figures["aif360"][part][golden_key], abs=EXACT), key


@pytest.mark.parametrize("weighted", [False, True])
def test_loss_and_ranking_are_those_of_scikit_learn(*, weighted: bool) -> None:
    random = np.random.default_rng(1)
    codes, actual, scores = drawn(random, 3000)
    scores[:4], actual[:4] = (0.0, 1.0, 0.0, 1.0), (0, 1, 1, 0)
    weights = random.choice([0.0, 0.5, 3.0], 3000) if weighted else None

    results = measured(ScoreTable.from_records(SEXES, codes, actual, scores, weights))

    for scope, group, rows in (("overall", None, codes >= 0), ("group", "Female", codes == 0), ("reference", None, codes == 1)):
        of = actual[rows], scores[rows]
        weigh = None if weights is None else weights[rows]
        assert value(results, "log_loss", scope, group).value == pytest.approx(log_loss(*of, sample_weight=weigh), abs=EXACT)
        assert value(results, "brier_score", scope, group).value == pytest.approx(brier_score_loss(*of, sample_weight=weigh), abs=EXACT)
        area = found(results, "roc_auc", scope, group)
        assert value(results, "roc_auc", scope, group).value == pytest.approx(roc_auc_score(*of, sample_weight=weigh), abs=EXACT)
        assert area.details.counts["binning_error"] == 0


def test_ties_count_half() -> None:
    """Of the six pairs four are in order and one is tied: 4.5 / 6."""
    table = ScoreTable.from_records([], [-1] * 5, [1, 1, 0, 0, 0], [0.9, 0.4, 0.4, 0.2, 0.7])

    area = found(measured(table), "roc_auc", "overall")

    assert isinstance(area.number, Value)
    assert area.number.value == pytest.approx(4.5 / 6)
    assert area.details.counts["binning_error"] == 0


def close_together(random: np.random.Generator, size: int) -> tuple[IntArray, FloatArray]:
    """Labels that rise with scores of which none are further apart than 0.00005."""
    rising = np.arange(size) / size
    return (random.random(size) < 1 / (1 + np.exp(10 - 20 * rising))).astype(np.int64), 0.02 + 0.00005 * rising


@pytest.mark.parametrize("kind", ["close together", "rare", "nearly certain", "single precision"])
def test_scores_are_ranked_exactly_wherever_they_lie(kind: str) -> None:
    random = np.random.default_rng(11)
    actual, scores = close_together(random, 2000)
    if kind != "close together":
        scores = 10 ** random.uniform(-14, -7, 2000)
        actual = (random.random(2000) < scores / 1e-9).astype(np.int64)
    if kind == "nearly certain":
        scores = 1 - scores
    if kind == "single precision":
        scores = scores.astype(np.float32).astype(np.float64)

    area = found(measured(ScoreTable.from_records([], np.full(2000, -1), actual, scores)), "roc_auc", "overall")

    assert isinstance(area.number, Value)
    assert area.number.value == pytest.approx(roc_auc_score(actual, scores), abs=EXACT)
    assert area.details.counts["binning_error"] == 0


def test_of_more_scores_than_are_kept_the_worst_error_is_known_and_widens_the_interval() -> None:
    random = np.random.default_rng(12)
    codes, actual, scores = drawn(random, 50_000)
    # Narrow, rare and far apart at once; every tenth score is the same, which no bin may pass for unknown.
    scores[::2] *= 1e-6
    scores[::10] = 0.9999
    table = ScoreTable.from_records(SEXES, codes, actual, scores)
    hidden = ScoreTable.from_records(SEXES, codes, actual, decode_keys((encode_scores(scores) >> table.bins.shift) << table.bins.shift))

    for scope, group, rows in (("overall", None, codes >= 0), ("group", "Female", codes == 0)):
        area, plain = (found(measured(of), "roc_auc", scope, group) for of in (table, hidden))
        assert isinstance(area.number, Value)
        assert isinstance(plain.number, Value)
        error = float(str(area.details.counts["binning_error"]))
        assert 0 < abs(area.number.value - roc_auc_score(actual[rows], scores[rows])) <= error < 0.002
        assert plain.details.counts["binning_error"] == 0
        assert (area.number.lower, area.number.upper) == pytest.approx(
            ((plain.number.lower or 0) - error, (plain.number.upper or 0) + error), abs=1e-6
        )
    assert len(table.bins.lows) <= MAX_BINS


def test_an_area_that_bins_could_put_far_off_is_not_given(snapshot: SnapshotAssertion) -> None:
    """Half of the scores lie so close together, and the others so far apart, that the bins do not tell the former apart."""
    random = np.random.default_rng(13)
    actual, scores = close_together(random, 20_000)
    far = random.random(20_000)
    table = ScoreTable.from_records(
        SEXES, np.repeat([0, 1], 20_000), np.concatenate([actual, far > 0.5]).astype(np.int64), np.concatenate([scores, far])
    )

    results = measured(table)

    assert says(text := reason(results, "roc_auc", "group", "Female"), f"{MAX_BINS:,}", "Female", "0")
    assert text == snapshot
    assert value(results, "roc_auc", "group", "Male").value == 1
    assert found(results, "brier_score", "group", "Female").number.n == 20_000


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [2, 16])
def test_bins_are_the_same_however_the_records_are_divided(monkeypatch: pytest.MonkeyPatch, decimals: int, *, weighted: bool) -> None:
    random = np.random.default_rng(14)
    codes, actual, scores = drawn(random, 30_000)
    scores = scores.round(decimals)
    scores[20_000:] = scores[20_000:] ** 8
    weights = random.choice([0.0, 0.5, 3.0], 30_000) if weighted else None
    whole = ScoreTable.from_records(SEXES, codes, actual, scores, weights)

    def part(rows: IntArray) -> ScoreTable:
        return ScoreTable.from_records(SEXES, codes[rows], actual[rows], scores[rows], None if weights is None else weights[rows])

    parts = [part(rows) for rows in np.split(random.permutation(30_000), [10, 4000, 17_000, 29_999])]
    halves = merged_tables([merged_tables(parts[3:]), merged_tables(parts[:3])])
    monkeypatch.setattr(score_bins, "MAX_MERGED_ENTRIES", 1000)
    at_once = merged_tables(parts)

    assert halves.bins.to_json() == at_once.bins.to_json() == whole.bins.to_json()
    assert ScoreTable.from_records([], np.full(30_000, -1), actual, scores, weights).bins.shift == whole.bins.shift


def test_keys_rise_with_the_scores_and_lead_back_to_them() -> None:
    near = np.concatenate([[0.0, 5e-324], 10.0 ** np.arange(-300, 0), np.nextafter(0.5, [0, 1]), [0.5]])
    scores = np.unique(np.concatenate([near, 1 - near]))

    assert (np.diff(encode_scores(scores)) > 0).all()
    assert np.array_equal(decode_keys(encode_scores(scores)), scores)
    assert encode_scores(np.array([-0.0]))[0] == encode_scores(np.array([0.0]))[0] == 0


def test_records_of_an_hour_without_scores_are_unscored() -> None:
    def hour(size: int, scores: FloatArray | None) -> LabelledCells:
        ones = np.ones(size, np.int64)
        return LabelledCells.from_records(SEXES, np.arange(size) % 3 - 1, actual=ones, predicted=ones, correct=ones, scores=scores)

    merged = LabelledCells.merge([hour(50, np.full(50, 0.5)), hour(500, None)])

    assert merged.scores is not None
    assert merged.scores.unscored.tolist() == [167, 166, 167]
    assert found(measured(merged.scores), "log_loss", "overall").details.unscored == 500


def test_figures_that_are_right_throughout_allow_for_records_unseen() -> None:
    scores = np.repeat([0.0, 1.0], 500)
    results = measured(ScoreTable.from_records([], np.full(1000, -1), scores.astype(np.int64), scores))

    brier, error, gap = (value(results, key, "overall") for key in ("brier_score", "calibration_error", "calibration_gap"))

    assert (brier.value, brier.lower, error.value, error.lower, gap.value) == (0, 0, 0, 0, 0)
    assert brier.upper == pytest.approx(0.0043, abs=1e-4)
    assert error.upper == pytest.approx(brier.upper)
    assert (gap.lower, gap.upper) == pytest.approx((-0.004, 0.004), abs=1e-4)


@pytest.mark.parametrize(("actual", "scores"), [([1], [0.3]), ([1, 0], [0.0, 0.1]), ([1, 0, 1], [1.0, 0.0, 1.0]), ([1, 0], [0.999, 0.9])])
def test_the_loss_of_a_few_records_is_between_nothing_and_the_largest_there_is(actual: list[int], scores: list[float]) -> None:
    loss = found(measured(ScoreTable.from_records([], [-1] * len(actual), actual, scores)), "log_loss", "overall")

    assert isinstance(loss.number, Value)
    assert loss.number.lower is not None
    assert 0 <= loss.number.lower < 0.01
    assert loss.number.upper == LARGEST_LOSS == pytest.approx(36.04, abs=0.01)
    assert loss.details.caution is not None


def test_calibration_is_worked_by_hand() -> None:
    """Two in the bin from 0.2 with one favourable, one in the bin from 0.8 that is not."""
    results = measured(ScoreTable.from_records([], [-1] * 3, [1, 0, 0], [0.2, 0.24, 0.86]))

    assert value(results, "calibration_gap", "overall").value == pytest.approx(1.3 / 3 - 1 / 3)
    assert value(results, "calibration_error", "overall").value == pytest.approx((abs(0.44 - 1) + 0.86) / 3)


def test_records_without_a_usable_score_or_label_are_left_out_and_counted() -> None:
    table = ScoreTable.from_records(SEXES, [0, 0, 0, 0, 1, -1], [1, 1, 0, 2, 0, 1], [0.5, np.nan, 1.5, 0.5, -0.1, np.inf])

    assert table.unscored.tolist() == [3, 1, 1]
    assert table.counts.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert found(measured(table), "log_loss", "overall").details.unscored == 5


def test_a_denominator_of_nothing_gives_a_reason_that_names_the_group(snapshot: SnapshotAssertion) -> None:
    results = measured(ScoreTable.from_records(SEXES, [0, 1, 1], [1, 2, 2], [0.5, 0.5, 0.5]))

    scored = "has a probability of the favourable outcome"
    assert reason(results, "brier_score", "group", "Male") == f"no labelled record of Male {scored}"
    assert says(text := reason(results, "log_loss", "reference"), "reference", "Male", str(scored))
    assert text == snapshot
    assert says(text := reason(results, "generalized_false_positive_rate", "group", "Female"), "Female")
    assert text == snapshot
    assert says(text := reason(results, EQUALIZED_ODDS, "group", "Female"), "Female", str(scored))
    assert text == snapshot
    assert says(text := reason(results, "roc_auc", "group", "Female"), "Female")
    assert text == snapshot
    assert value(results, "generalized_true_positive_count", "group", "Male").value == 0


def test_a_table_of_nobody_gives_reasons_only() -> None:
    for result in measured(merged_tables([])):
        assert not isinstance(result.number, Value)


def test_few_records_are_cautioned_about() -> None:
    results = measured(ScoreTable.from_records(SEXES, [0] * 9 + [1] * 30, [1] * 5 + [0] * 34, np.linspace(0.1, 0.9, 39)))

    assert "rests on 5 records" in str(found(results, "generalized_true_positive_rate", "group", "Female").details.caution)
    assert found(results, "brier_score", "overall").details.caution is None
    assert found(results, "roc_auc", "group", "Female").smallest_group == 4


def test_one_record_says_next_to_nothing_of_a_mean() -> None:
    number = value(measured(ScoreTable.from_records(SEXES, [0], [1], [0.3])), "generalized_true_positive_rate", "group", "Female")

    assert number.value == pytest.approx(0.3)
    assert number.lower is not None
    assert number.lower < 0.01
    assert number.upper is not None
    assert number.upper > 0.99


def test_equal_weights_change_no_rate_and_no_interval() -> None:
    codes, actual, scores = drawn(np.random.default_rng(2), 400)
    plain, weighed = (measured(ScoreTable.from_records(SEXES, codes, actual, scores, weights)) for weights in (None, np.full(400, 4.0)))

    for figure, other in zip(plain, weighed, strict=True):
        assert isinstance(figure.number, Value)
        assert isinstance(other.number, Value)
        by = 4.0 if figure.metric.endswith("_count") else 1.0
        numbers = [(each.value, each.lower, each.upper) for each in (figure.number, other.number)]
        assert numbers[1] == pytest.approx([by * float(end or 0) for end in numbers[0]], rel=1e-6, abs=1e-9), figure.metric


def test_groups_of_merged_tables_are_aligned_by_label_and_nobodys_records_stay_last() -> None:
    first = ScoreTable.from_records([("Female", "monitored")], [0, -1], [1, 0], [0.25, 0.5])
    second = ScoreTable.from_records([("Male", "reference"), ("Female", "reference")], [0, 1, -1], [0, 0, 2], [0.5, 0.75, 0.5])

    merged = merged_tables([first, second])

    assert merged.groups == (("Female", "reference"), ("Male", "reference"))
    assert merged.counts.tolist() == [[1, 1], [1, 0], [1, 0]]
    assert merged.sums[..., 0].tolist() == [[0.75, 0.25], [0.5, 0.0], [0.5, 0.0]]
    assert merged.unscored.tolist() == [0, 0, 1]
    assert first.counts.tolist() == [[0, 1], [1, 0]]


def test_a_table_stored_as_json_is_small_and_comes_back() -> None:
    codes, actual, scores = drawn(np.random.default_rng(3), 500)
    for weights in (None, np.linspace(0, 2, 500)):
        table = ScoreTable.from_records(SEXES, codes, actual, scores, weights)
        text = json.dumps(table.to_json(), allow_nan=False)
        stored = json.loads(text)

        assert ScoreTable.from_json(stored).to_json() == table.to_json()
        assert ("weights" in stored) is (weights is not None)
        assert len(text) < 25_000


def test_a_stored_table_that_does_not_fit_its_groups_is_refused() -> None:
    stored = ScoreTable.from_records(SEXES, [0], [1], [0.5]).to_json()

    with pytest.raises(ValueError, match="expected rising places from 0 to 5"):
        ScoreTable.from_json({**stored, "ranked": {**stored["ranked"], "steps": [6]}})
    with pytest.raises(ValueError, match="expected rising scores"):
        ScoreBins.from_json({**stored["ranked"], "scores": [0.5, 0.5]}, 6)
    with pytest.raises(ValueError, match="expected counts of shape"):
        ScoreTable.from_json({**stored, "groups": [["Female", "monitored"]]})
    with pytest.raises(ValueError, match="one label and one score per record"):
        ScoreTable.from_records(SEXES, [0, 1], [1, 0], [0.5])


@pytest.mark.nightly
@pytest.mark.parametrize(("size", "share"), [(200, 0.1), (1000, 0.5)])
def test_intervals_hold_the_truth_as_often_as_they_say(size: int, share: float) -> None:
    """Of 95 % at least 92.5 % over 300 windows, which is chance; the bounds of distances hold it more often than that."""
    random = np.random.default_rng(4)
    large = measured(ScoreTable.from_records(SEXES, *drawn(random, 500_000, share, 0.4)))
    keys = [key for key in WANTED if not key.endswith("_count")]
    truth = {key: value(large, key, "group", "Female").value for key in keys}
    held = dict.fromkeys(keys, 0)
    windows = 300

    for _ in range(windows):
        results = measured(ScoreTable.from_records(SEXES, *drawn(random, size, share, 0.4)))
        for key in keys:
            number = value(results, key, "group", "Female")
            assert number.lower is not None
            assert number.upper is not None
            held[key] += number.lower <= truth[key] <= number.upper

    assert min(held.values()) >= 0.925 * windows, held
    distances = {EQUALIZED_ODDS, "calibration_error"}
    assert max(times for key, times in held.items() if key not in distances) <= 0.99 * windows, held
