"""What a check says of a simulated world whose truth is known: through real proxies, through a column of chance, and through nothing."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.checks.views.build_views import build_check_view
from app.checks.views.logged_view import INTERVALS_DIFFER
from app.checks.views.view_shapes import CheckView, ViewKind
from app.database.engine import Database
from app.domain.check import Trigger
from tests.builders.page_words import says
from tests.builders.proxies import proxied_world, train, watched_through
from tests.scenes import HOUR, NOON, Result, Scene

STRENGTHS = {
    "priors": (0.292, 0.022, 0.292),
    "district": (0.424, 0.028, 0.424),
    "charge": (0.006, 0.082, 0.227),
    "age": (0.002, 0.022, 0.013),
}
"""Of each feature the strength, the level of chance, and the strength without correction; those of docs/concepts/indirect-bias.md."""


@pytest.fixture
def world(database: Database) -> Iterator[Scene]:
    with proxied_world(database) as stage:
        yield stage


def impact(result: Result, data: str) -> tuple[float, str | None]:
    """The disparate impact of the first group, and its verdict."""
    found = result.get("disparate_impact", data, "group", "first")
    assert found.value is not None
    return found.value, found.verdict


def view_of(stage: Scene, result: Result, kind: ViewKind = ViewKind.OPENSCALE) -> CheckView:
    with stage.database.transaction() as session:
        return build_check_view(session, stage.deployment, result.run, kind)


def store_as_an_earlier_version(stage: Scene) -> None:
    """The strengths as they were stored when they were not yet corrected."""
    earlier = [
        [association.feature, association.measure.value, association.uncorrected, association.records, association.left_out, None]
        for association in train(stage)
    ]
    with stage.database.transaction() as session:
        session.execute(text("UPDATE training_correlations SET associations = :earlier"), {"earlier": json.dumps(earlier)})


def test_the_real_proxies_are_recommended_and_the_column_of_chance_is_not_though_it_looks_strong(world: Scene) -> None:
    found = {association.feature: association for association in train(world)}

    assert {name for name, association in found.items() if association.is_recommended()} == {"priors", "district"}
    figures = {name: (association.strength, association.chance_level, association.uncorrected) for name, association in found.items()}
    assert figures == {name: pytest.approx(known, abs=0.0005) for name, known in STRENGTHS.items()}


def test_through_the_recommended_features_the_model_is_found_unfair_without_a_warning(world: Scene, snapshot: SnapshotAssertion) -> None:
    world.watch(watched_through("priors", "district"))

    result = world.check(NOON)

    # The two decide everything, and nothing of them stays: the true ratio is that of the groups in the whole population, 0.334 to 0.721.
    assert impact(result, "counterfactual") == (pytest.approx(0.463, abs=0.04), "unfair")
    assert impact(result, "counterfactual")[0] == pytest.approx(0.474, abs=0.0005)
    assert result.run.window is not None
    assert set(result.run.window["correlated_features"]["group"]) == {"features", "donors"}
    unseen, intervals = view_of(world, result).notes
    assert says(unseen, "priors")
    assert unseen == snapshot
    assert intervals == INTERVALS_DIFFER


def test_through_the_column_of_chance_alone_the_ratio_is_near_one_and_the_check_says_that_this_means_nothing(
    world: Scene, snapshot: SnapshotAssertion
) -> None:
    world.watch(watched_through("charge"))

    result = world.check(NOON)

    assert impact(result, "as_logged")[1] == "unfair"
    assert impact(result, "counterfactual") == (pytest.approx(1, abs=0.0005), "fair")
    assert result.run.window is not None
    doubted = result.run.window["correlated_features"]["group"]["no_stronger_than_chance"]
    assert doubted["charge"]["strength"] <= doubted["charge"]["chance_level"]
    for view in (view_of(world, result), view_of(world, result, ViewKind.MITIGATED)):
        (warning,) = [note for note in view.notes if "charge went together with group no more strongly than shuffled values do" in note]
        assert warning == snapshot
        assert "a ratio near 1 says nothing" in warning


@pytest.mark.thorough
def test_what_is_carried_forward_keeps_the_warning(world: Scene) -> None:
    world.watch(watched_through("charge"))
    world.check(NOON, trigger=Trigger.SCHEDULE)

    carried = world.check(NOON + HOUR, trigger=Trigger.SCHEDULE)

    assert all(figure.carried_forward for figure in carried.measurements)
    assert any("a ratio near 1 says nothing" in note for note in view_of(world, carried).notes)


@pytest.mark.thorough
def test_a_column_of_chance_among_real_proxies_is_named(world: Scene) -> None:
    world.watch(watched_through("priors", "district", "charge"))

    result = world.check(NOON)

    assert impact(result, "counterfactual")[1] == "unfair"
    assert any(note.startswith("Among the features that copies of group change, charge went") for note in view_of(world, result).notes)


def test_through_nothing_the_counterfactual_figure_is_the_payloads_and_the_check_says_so(world: Scene, snapshot: SnapshotAssertion) -> None:
    result = world.check(NOON)

    assert impact(result, "counterfactual") == impact(result, "as_logged")
    assert result.run.window is not None
    assert result.run.window["attributes_unseen_by_model"] == ["group"]
    note = view_of(world, result).notes[0]
    assert note == snapshot


@pytest.mark.nightly
def test_strengths_of_an_earlier_version_are_said_to_be_unknown_until_training_data_are_uploaded_again(world: Scene) -> None:
    store_as_an_earlier_version(world)
    world.watch(watched_through("charge"))

    before = world.check(NOON)
    train(world)
    after = world.check(NOON + HOUR)

    windows = [check.run.window["correlated_features"]["group"] for check in (before, after) if check.run.window is not None]
    assert windows[0]["not_corrected_for_chance"] == ["charge"]
    assert "no_stronger_than_chance" not in windows[0]
    assert any(note.startswith("It is not known whether charge went together with group") for note in view_of(world, before).notes)
    assert list(windows[1]["no_stronger_than_chance"]) == ["charge"]
    # The same file has the same donors, so the answers to their copies hold.
    assert windows[0]["donors"] == windows[1]["donors"]
