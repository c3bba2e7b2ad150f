from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.values import Range
from app.domain.mitigation import DetectorUse, MitigationSettings, Mode
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.mitigation.profile_in_force import find_mitigation_problems, list_mitigated_attributes, list_unused_attributes

SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
AGE = MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
MONITOR = Monitor(outcomes=OutcomeRule(favourable=("yes",), unfavourable=("no",)), attributes=(SEX, AGE))
NOBODY = replace(MONITOR, attributes=())
DEFAULTS = MitigationSettings()


def fields(settings: MitigationSettings) -> list[str]:
    return [problem.field for problem in find_mitigation_problems(settings, MONITOR)]


@pytest.mark.parametrize(
    "settings",
    [
        DEFAULTS,
        MitigationSettings(mode=Mode.REFERENCE_SUBSTITUTION, attributes=("age",), bias_detector=DetectorUse.CHOOSE),
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
    ],
)
def test_each_fault_is_named_by_its_field(settings: MitigationSettings, expected: list[str]) -> None:
    assert fields(settings) == expected


def test_settings_apply_to_what_a_changed_monitor_has_left_of_their_attributes() -> None:
    settings = MitigationSettings(attributes=("race", "age", "sex"))

    assert list_mitigated_attributes(settings, MONITOR) == ("sex", "age")
    assert list_unused_attributes(settings, MONITOR) == ("race",)
    assert list_mitigated_attributes(settings, NOBODY) == ()
    assert list_unused_attributes(settings, None) == ("race", "age", "sex")
    assert list_mitigated_attributes(DEFAULTS, MONITOR) == ("sex", "age")
    assert list_unused_attributes(DEFAULTS, None) == ()


NAMES = st.sampled_from(["sex", "age", "race", "", "a\x00"])
SETTINGS = st.builds(
    MitigationSettings,
    mode=st.sampled_from(Mode),
    attributes=st.none() | st.lists(NAMES, max_size=4).map(tuple),
    bias_detector=st.sampled_from(DetectorUse),
)


@given(settings=SETTINGS)
@pytest.mark.thorough
def test_settings_without_a_problem_apply_to_all_they_name(settings: MitigationSettings) -> None:
    found = find_mitigation_problems(settings, MONITOR)

    assert all(problem.field and problem.message for problem in found)
    if not found:
        assert list_unused_attributes(settings, MONITOR) == ()
        assert set(list_mitigated_attributes(settings, MONITOR)) == set(settings.attributes or ("sex", "age"))


@given(settings=SETTINGS)
def test_whatever_a_monitor_is_changed_to_only_its_own_attributes_are_mitigated(settings: MitigationSettings) -> None:
    for monitor in (MONITOR, NOBODY, replace(MONITOR, attributes=(AGE,))):
        own = {attribute.feature for attribute in monitor.attributes}

        assert set(list_mitigated_attributes(settings, monitor)) <= own
        assert not own & set(list_unused_attributes(settings, monitor))
