from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.deployments import ProblemType
from app.domain.mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, DetectorUse, MitigationSettings, Mode, ParityGoal
from app.domain.mitigation_rules import (
    attributes_without_goal,
    mitigated_attributes,
    mitigation_problems,
    notes_of,
    unused_attributes,
)
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.outcomes import OutcomeRule
from app.domain.values import Range

SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
AGE = MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
MONITOR = Monitor(outcomes=OutcomeRule(favourable=("yes",), unfavourable=("no",)), attributes=(SEX, AGE))
NOBODY = replace(MONITOR, attributes=())
DEFAULTS = MitigationSettings()
REGRESSION = ProblemType.REGRESSION


def goal(attribute: str, disparate_impact: float = 0.8, min_group_size: int = 100) -> ParityGoal:
    return ParityGoal(attribute=attribute, disparate_impact=disparate_impact, min_group_size=min_group_size)


PARITY = MitigationSettings(mode=Mode.PARITY, parity=(goal("sex"), goal("age")))


def fields(settings: MitigationSettings, problem_type: ProblemType = ProblemType.BINARY, monitor: Monitor = MONITOR) -> list[str]:
    return [problem.field for problem in mitigation_problems(settings, monitor, problem_type)]


@pytest.mark.parametrize(
    "settings",
    [
        DEFAULTS,
        MitigationSettings(mode=Mode.REFERENCE_SUBSTITUTION, attributes=("age",), bias_detector=DetectorUse.CHOOSE),
        MitigationSettings(parity=(goal("sex", 1.0, 30),)),
        PARITY,
        replace(PARITY, attributes=("sex",), parity=(goal("sex", 1e-9, 1_000_000),), bias_detector=DetectorUse.MARK),
    ],
)
def test_good_settings_have_no_problem(settings: MitigationSettings) -> None:
    assert fields(settings) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (MitigationSettings(attributes=()), ["attributes"]),
        (MitigationSettings(attributes=("race",)), ["attributes[0]"]),
        (MitigationSettings(attributes=("Sex",)), ["attributes[0]"]),
        (MitigationSettings(attributes=("sex", "sex")), ["attributes[1]"]),
        (MitigationSettings(attributes=("sex", "age", "race")), ["attributes"]),
        (MitigationSettings(attributes=("race", "race")), ["attributes[0]", "attributes[1]"]),
        (MitigationSettings(parity=(goal("race"),)), ["parity[0].attribute"]),
        (MitigationSettings(parity=(goal("sex"), goal("sex"))), ["parity[1].attribute"]),
        (MitigationSettings(parity=(goal("sex"), goal("age"), goal("sex"))), ["parity"]),
        (MitigationSettings(attributes=("age",), parity=(goal("sex"),)), ["parity[0].attribute"]),
        (MitigationSettings(parity=(goal("sex", 0.0),)), ["parity[0].disparate_impact"]),
        (MitigationSettings(parity=(goal("sex", 1.01),)), ["parity[0].disparate_impact"]),
        (MitigationSettings(parity=(goal("sex", -1.0),)), ["parity[0].disparate_impact"]),
        (MitigationSettings(parity=(goal("sex", float("nan")),)), ["parity[0].disparate_impact"]),
        (MitigationSettings(parity=(goal("sex", min_group_size=29),)), ["parity[0].min_group_size"]),
        (MitigationSettings(parity=(goal("sex", min_group_size=1_000_001),)), ["parity[0].min_group_size"]),
        (MitigationSettings(mode=Mode.PARITY), ["parity"]),
        (MitigationSettings(mode=Mode.PARITY, parity=(goal("sex"),)), ["parity"]),
        (replace(PARITY, bias_detector=DetectorUse.CHOOSE), ["bias_detector"]),
    ],
)
def test_each_fault_is_named_by_its_field(settings: MitigationSettings, expected: list[str]) -> None:
    assert fields(settings) == expected


def test_parity_is_refused_for_a_regression_which_has_no_probabilities() -> None:
    assert fields(PARITY, REGRESSION) == ["mode", "parity"]
    assert fields(MitigationSettings(parity=(goal("sex"),)), REGRESSION) == ["parity"]
    assert fields(MitigationSettings(mode=Mode.REFERENCE_SUBSTITUTION), REGRESSION) == []


def test_the_attributes_that_lack_a_goal_are_named() -> None:
    lacking = replace(PARITY, parity=(goal("sex"),))

    found = mitigation_problems(lacking, MONITOR, ProblemType.BINARY)

    assert [problem.message for problem in found] == [
        "mode parity needs a goal for every attribute that is mitigated; there is none for 'age'"
    ]
    assert attributes_without_goal(lacking, MONITOR) == ("age",)
    assert attributes_without_goal(replace(lacking, mode=Mode.LIFT_ONLY), MONITOR) == ()
    assert attributes_without_goal(replace(lacking, attributes=("sex",)), MONITOR) == ()


def test_settings_apply_to_what_a_changed_monitor_has_left_of_their_attributes() -> None:
    settings = MitigationSettings(attributes=("race", "age", "sex"), parity=(goal("race"), goal("zip")))

    assert mitigated_attributes(settings, MONITOR) == ("sex", "age")
    assert unused_attributes(settings, MONITOR) == ("race", "zip")
    assert mitigated_attributes(settings, NOBODY) == ()
    assert unused_attributes(settings, None) == ("race", "age", "sex", "zip")
    assert mitigated_attributes(DEFAULTS, MONITOR) == ("sex", "age")
    assert unused_attributes(DEFAULTS, None) == ()


def test_in_parity_mode_an_attribute_without_a_goal_is_left_as_it_is() -> None:
    assert mitigated_attributes(replace(PARITY, parity=(goal("age"),)), MONITOR) == ("age",)


def test_parity_has_a_note_more_than_the_other_modes() -> None:
    assert notes_of(Mode.PARITY) == (ONLY_DIRECT, PARITY_TREATS_UNLIKE)
    assert {notes_of(mode) for mode in Mode if mode is not Mode.PARITY} == {(ONLY_DIRECT,)}


NAMES = st.sampled_from(["sex", "age", "race", "", "a\x00"])
GOALS = st.builds(
    ParityGoal, attribute=NAMES, disparate_impact=st.floats(), min_group_size=st.integers(min_value=-(10**30), max_value=10**30)
)
SETTINGS = st.builds(
    MitigationSettings,
    mode=st.sampled_from(Mode),
    attributes=st.none() | st.lists(NAMES, max_size=4).map(tuple),
    parity=st.lists(GOALS, max_size=4).map(tuple),
    bias_detector=st.sampled_from(DetectorUse),
)


@given(settings=SETTINGS, problem_type=st.sampled_from(ProblemType))
@pytest.mark.thorough
def test_settings_without_a_problem_apply_to_all_they_name_and_lack_nothing(
    settings: MitigationSettings, problem_type: ProblemType
) -> None:
    found = mitigation_problems(settings, MONITOR, problem_type)

    assert all(problem.field and problem.message for problem in found)
    if not found:
        assert unused_attributes(settings, MONITOR) == ()
        assert attributes_without_goal(settings, MONITOR) == ()
        assert set(mitigated_attributes(settings, MONITOR)) == set(settings.attributes or ("sex", "age"))


@given(settings=SETTINGS)
def test_whatever_a_monitor_is_changed_to_only_its_own_attributes_are_mitigated(settings: MitigationSettings) -> None:
    for monitor in (MONITOR, NOBODY, replace(MONITOR, attributes=(AGE,))):
        own = {attribute.feature for attribute in monitor.attributes}

        assert set(mitigated_attributes(settings, monitor)) <= own
        assert not own & set(unused_attributes(settings, monitor))


def test_outcomes_lifted_to_another_goal_are_mitigated_in_another_way() -> None:
    goal = ParityGoal(attribute="sex", disparate_impact=0.8, min_group_size=100)
    settings = MitigationSettings(mode=Mode.PARITY, parity=(goal,))

    assert settings.way_of("sex") != replace(settings, parity=(replace(goal, disparate_impact=0.9),)).way_of("sex")
    assert settings.way_of("sex") == replace(settings, version=7, bias_detector=DetectorUse.MARK).way_of("sex")
    assert replace(settings, mode=Mode.LIFT_ONLY).way_of("sex") == "lift_only"


def test_in_parity_mode_only_attributes_with_a_goal_are_mitigated() -> None:
    settings = MitigationSettings(mode=Mode.PARITY, parity=(ParityGoal(attribute="sex", disparate_impact=0.8, min_group_size=100),))

    assert (settings.mitigates("sex"), settings.mitigates("age")) == (True, False)
    assert replace(settings, mode=Mode.LIFT_ONLY).mitigates("age")
