"""The first page's evidence: the headline's group is among what it says, and it says how much it leaves out."""

from syrupy.assertion import SnapshotAssertion

from app.reports.sections.evidence_section import MAX_SENTENCES, say_since
from app.statistics.e_values.state_words import State
from tests.builders.comparison_states import comparison_of, evidence_of
from tests.builders.page_words import says


def test_the_group_of_the_headline_is_said_first_and_what_is_left_out_is_counted(snapshot: SnapshotAssertion) -> None:
    groups = [f"group {number}" for number in range(MAX_SENTENCES + 2)]
    unfair = [comparison_of(State.UNFAIR, group=group) for group in groups]
    evidence = evidence_of(comparison_of(State.UNDECIDED, group="unclear"), *unfair, comparison_of(State.SHOWN_FAIR, group="shown fair"))

    _, *said, last = say_since(evidence, attribute="sex", group=groups[-1])

    assert len(said) == MAX_SENTENCES
    assert groups[-1] in said[0]
    assert [group in text for group, text in zip(groups, said[1:], strict=False)] == [True] * (MAX_SENTENCES - 1)
    assert says(last, "2", "unfair", "1", "undecided", "1", "fair")
    assert last == snapshot


def test_undecided_comparisons_leave_no_other_out(snapshot: SnapshotAssertion) -> None:
    undecided = [comparison_of(State.UNDECIDED, group=f"group {number}") for number in range(MAX_SENTENCES + 1)]

    said = list(say_since(evidence_of(*undecided, comparison_of(State.SHOWN_FAIR, group="shown fair"))))

    assert len(said) == 3
    assert "shown fair" in said[1]
    assert says(said[2], str(MAX_SENTENCES + 1), "undecided")
    assert said[2] == snapshot


def test_a_page_with_few_groups_says_more_comparisons() -> None:
    unfair = [comparison_of(State.UNFAIR, group=f"group {number}") for number in range(MAX_SENTENCES + 3)]

    said = list(say_since(evidence_of(*unfair), limit=MAX_SENTENCES + 3))

    assert len(said) == 1 + len(unfair)
    assert not any("Not listed" in text for text in said)
