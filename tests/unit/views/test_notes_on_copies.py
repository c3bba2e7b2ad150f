"""What is said beside counterfactual figures, so that nobody takes them for more than they are."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from syrupy.assertion import SnapshotAssertion

from app.checks.views.logged_view import list_notes_on_copies
from app.checks.views.view_shapes import AttributeView, GroupShare, Outcomes
from app.checks.views.view_source import CheckSource
from app.domain.groups import Role
from app.domain.monitor import Comparison
from tests.builders.page_words import says

NOBODY = Outcomes(
    favourable=0, unfavourable=0, records=0, share=None, lower=None, upper=None, interval_method=None, reason="none", figure=None
)


def source(**window: Any) -> CheckSource:  # noqa: ANN401
    return cast("CheckSource", SimpleNamespace(window=window))


def view(*groups: tuple[Role, int]) -> AttributeView:
    """An attribute whose groups hold so many records with copies."""
    shares = [
        GroupShare(
            group=f"{no}",
            role=role,
            outcomes=replace(NOBODY, records=records),
            original_records=records,
            unclassified=0,
            comparison=None,
        )
        for no, (role, records) in enumerate(groups)
    ]
    return AttributeView(comparison=Comparison(("age",)), groups=tuple(shares))


def test_where_each_record_stands_in_both_groups_there_is_nothing_to_say() -> None:
    assert list_notes_on_copies(source(), (view(("monitored", 50), ("reference", 50)),)) == ()


def test_groups_that_do_not_hold_the_same_records_equally_often_are_told(snapshot: SnapshotAssertion) -> None:
    by_draws = list_notes_on_copies(source(), (view(("monitored", 50), ("reference", 70)),))
    of_several = list_notes_on_copies(source(), (view(("monitored", 50), ("monitored", 50), ("reference", 50)),))

    assert by_draws == of_several
    assert len(by_draws) == 1
    assert by_draws[0] == snapshot
    assert says(by_draws[0], "counterfactual")


def test_copies_that_change_other_features_too_are_not_said_to_change_the_attribute_alone(snapshot: SnapshotAssertion) -> None:
    window = {"attributes_unseen_by_model": ["age"], "correlated_features": {"age": {"features": ["income", "region"], "donors": "x"}}}

    notes = list_notes_on_copies(source(**window), ())

    (note,) = notes
    assert says(note, "age", "income")
    assert note == snapshot


LEVELS = {"charge": {"strength": 0.006, "chance_level": 0.082}, "zone": {"strength": 0.0, "chance_level": 0.05}}


def doubted(**doubts: Any) -> tuple[str, ...]:  # noqa: ANN401
    """What is said beyond which features are changed."""
    through = {"age": {"features": ["charge", "priors", "zone"], "donors": "x", **doubts}}
    return list_notes_on_copies(source(attributes_unseen_by_model=["age"], correlated_features=through), ())[1:]


def test_features_that_are_no_stronger_than_chance_are_named_with_their_strengths(snapshot: SnapshotAssertion) -> None:
    (some,) = doubted(no_stronger_than_chance=LEVELS)
    (all_of_them,) = doubted(no_stronger_than_chance=LEVELS, features=["charge", "zone"])

    figures = "(charge: strength 0.006, level of chance 0.082; zone: strength 0.000, level of chance 0.050)"
    assert says(some, "age", "charge", "zone", "age")
    assert some == snapshot
    assert figures in some
    assert says(all_of_them, "counterfactual", "age")
    assert all_of_them == snapshot
    assert figures in all_of_them


def test_features_that_were_not_compared_with_chance_are_named(snapshot: SnapshotAssertion) -> None:
    (note,) = doubted(not_corrected_for_chance=["priors"])

    assert says(note, "priors", "age")
    assert note == snapshot
    assert doubted() == ()
