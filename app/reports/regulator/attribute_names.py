"""Attributes that rules name, recognised by words of column names."""

import re
from collections.abc import Sequence

SEX = ("sex", "gender")
RACE = ("race", "races", "ethnic", "ethnicity")


def split_name(name: str) -> frozenset[str]:
    """Words in lower case: of `applicant_gender`, `applicantGender` and `Applicant gender` the same."""
    # Whole words: `language` is no `age`, and `embrace` no `race`.
    spaced_name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return frozenset(letters.casefold() for letters in re.findall(r"[^\W\d_]+", spaced_name))


def order_for_audit(features: Sequence[str], *, is_chosen: bool) -> tuple[str, ...]:
    """Sex and race, for which Local Law 144 asks, first; others only if chosen.

    Where it is not clear which these are, all stay as they are: just one attribute must be named like each.
    """
    of_sex, of_race = (
        [feature for feature in features if not split_name(feature).isdisjoint(nouns)]
        for nouns in (SEX, RACE)
    )
    required = (*of_sex, *of_race)
    if (len(of_sex), len(of_race)) != (1, 1) or of_sex == of_race:
        return tuple(features)
    return tuple(dict.fromkeys((*required, *features))) if is_chosen else required
