"""A record that comes alone, the same among others of a request, and the same in the window of a check are decided alike."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from app.base.values import Range
from app.domain.mitigation import AttributeProfile, CutOff, Mode, Reading, StandIn
from app.domain.monitor import Outcome, OutcomeRule
from app.domain.record import Prediction
from app.mitigation.live.substitute import CopiedRecord, CopySet, Decider, combine_stand_ins
from app.mitigation.rule import Judge, Probability
from app.mitigation.window.treated_window import treat_window
from tests.unit.mitigation.copies import GROUPS, RULE, window

REFERENCES = ("own", "family")
MONITORED = {"rent": 0, "free": 1}
NUMBERS = (
    OutcomeRule(favourable=(Range(100, 200),), unfavourable=(Range(0, 60),)),
    OutcomeRule(favourable=(Range(0, 50), Range(150, 200)), unfavourable=(Range(60, 140),)),
)
CLASSES = OutcomeRule(favourable=("a",), unfavourable=("b",))

PARTS = st.integers(0, 8).map(lambda part: part / 8)
PROBABILITIES = {
    "number": st.one_of(PARTS, st.floats(0, 1)),
    "pair": st.one_of(PARTS, st.floats(0, 1)).map(lambda part: (1 - part, part)),
    "classes": st.tuples(PARTS, PARTS, PARTS),
    "mixed": st.one_of(st.none(), PARTS, PARTS.map(lambda part: (1 - part, part))),
    "none": st.none(),
}
READINGS = {
    "number": [Reading("number"), Reading("number", rises=False)],
    "pair": [Reading("list", favourable=(1,))],
    "classes": [Reading("list", favourable=(0,), classes=("a", "b", None)), Reading("list", favourable=(0,), classes=("a", "b", "c"))],
    "mixed": [Reading("number"), Reading("list", favourable=(1,))],
    "none": [None],
}


@dataclass(frozen=True)
class Model:
    """A model's way to answer: its outcomes, how its probabilities are read, its cut-off, and the answers that it can give."""

    judge: Judge
    answers: st.SearchStrategy[Prediction]


@dataclass(frozen=True)
class Record:
    """A monitored record, the model's answer to it, and those to its copy into each reference value."""

    group: str
    own: Prediction
    answers: tuple[Prediction, ...]


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Models of two classes, of several, and of real numbers."""
    form = draw(st.sampled_from(sorted(PROBABILITIES)))
    kind = draw(st.sampled_from(("numbers",) if form == "none" and draw(st.booleans()) else ("two", "several")))
    rule, values = {
        "two": (RULE, st.sampled_from([0, 1])),
        "several": (CLASSES, st.sampled_from(["a", "b", "c"])),
        "numbers": (draw(st.sampled_from(NUMBERS)), st.one_of(st.integers(0, 220), st.floats(0, 220, allow_nan=False))),
    }[kind]
    lower, upper = sorted((draw(PARTS), draw(PARTS)))
    cut_off = draw(st.sampled_from([None, CutOff((lower + upper) / 2, lower, upper), CutOff(0.5, 0.5, 0.5)]))
    reading = draw(st.sampled_from([None, *READINGS[form]]))
    return Model(Judge(rule, reading, cut_off), st.builds(Prediction, values, PROBABILITIES[form]))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Judge, list[Record], AttributeProfile]:
    model = draw(models())
    records = st.builds(Record, st.sampled_from(sorted(MONITORED)), model.answers, st.tuples(*[model.answers] * len(REFERENCES)))
    share = draw(st.one_of(st.sampled_from([0.5, 0.25, 1 / 3]), st.floats(0.01, 0.99)))
    stand_ins = tuple(StandIn(label, (("housing", label),), part) for label, part in zip(REFERENCES, (share, 1 - share), strict=True))
    return model.judge, draw(st.lists(records, min_size=1, max_size=8)), AttributeProfile("housing", stand_ins)


def decide_window(judge: Judge, records: list[Record], profile: AttributeProfile, mode: Mode) -> list[int]:
    """The outcomes after mitigation, as a check computes them from stored texts."""
    own = [judge.rule.classify(record.own.prediction) for record in records]
    given_answers = {
        (place, label): (answer.prediction, answer.probability)
        for place, record in enumerate(records)
        for label, answer in zip(REFERENCES, record.answers, strict=True)
    }
    copies = window([MONITORED[record.group] for record in records], own, given_answers, rule=judge.rule, draws=1)
    return treat_window(copies, np.array(own, dtype=np.int64), profile, judge, mode).after.tolist()


def decide_live(judge: Judge, records: list[Record], profile: AttributeProfile, mode: Mode) -> list[int]:
    """The same, as a request computes them from the model's answers."""
    substitutions = combine_stand_ins([profile.stand_ins], {"housing": 0})
    copies = CopySet(("housing",), substitutions, ())
    own = [judge.rule.classify(record.own.prediction) for record in records]
    copied = [CopiedRecord(record.own, outcome, copies, record.answers) for record, outcome in zip(records, own, strict=True)]
    found = Decider(judge, mode, judge.rule.classify).decide_answers(copied)
    return [change(outcome, changed=answer.changed) for outcome, answer in zip(own, found, strict=True)]


def change(outcome: Outcome, *, changed: bool) -> int:
    """The other outcome, where it changed."""
    return int(1 - outcome if changed else outcome)


@given(cases())
@pytest.mark.nightly
def test_substitution_decides_alike_alone_in_a_request_and_in_a_window(case: tuple[Judge, list[Record], AttributeProfile]) -> None:
    judge, drawn, profile = case
    # Live, copies are made of classified records only.
    records = [record for record in drawn if judge.rule.classify(record.own.prediction) is not Outcome.UNCLASSIFIED]
    for mode in (Mode.LIFT_ONLY, Mode.REFERENCE_SUBSTITUTION):
        inside = decide_window(judge, records, profile, mode)
        event(f"{mode}: {'some' if inside != [judge.rule.classify(record.own.prediction) for record in records] else 'none'} changed")

        assert [decide_window(judge, [record], profile, mode)[0] for record in records] == inside
        assert decide_live(judge, records, profile, mode) == [decide_live(judge, [record], profile, mode)[0] for record in records]
        assert decide_live(judge, records, profile, mode) == inside


def test_the_groups_of_the_window_are_those_of_the_records() -> None:
    assert [group.label for group in GROUPS] == [*MONITORED, *REFERENCES]


def test_probabilities_are_compared_in_both() -> None:
    judge = Judge(RULE, Reading("number"), CutOff(0.5, 0.4, 0.6))
    halves = AttributeProfile("housing", tuple(StandIn(label, (("housing", label),), 0.5) for label in REFERENCES))

    def after(one: Probability, other: Probability) -> list[list[int]]:
        record = Record("rent", Prediction(0, 0.1), (Prediction(1, one), Prediction(0, other)))
        return [decide(judge, [record], halves, Mode.LIFT_ONLY) for decide in (decide_window, decide_live)]

    assert after(0.9, 0.4) == [[1], [1]]
    assert after(0.6, 0.3) == [[0], [0]]
