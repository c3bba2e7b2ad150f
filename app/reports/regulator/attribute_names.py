"""Attributes that rules name, recognised by words of column names."""

import re
from collections.abc import Sequence

SEX = ("sex", "gender")
RACE = ("race", "races", "ethnic", "ethnicity")


def split_name(name: str) -> frozenset[str]:
    """Words in lower case: of `applicant_gender`, `applicantGender` and `Applicant gender` the same."""
    # Whole words: `language` is no `age`, and `embrace` no `race`.
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return frozenset(letters.casefold() for letters in re.findall(r"[^\W\d_]+", apart))


def find_sex_and_race(features: Sequence[str]) -> tuple[str, str] | None:
    """Attributes named like sex and like race, if there is just one of each."""
    candidates = [
        [feature for feature in features if not split_name(feature).isdisjoint(nouns)]
        for nouns in (SEX, RACE)
    ]
    if any(len(names) != 1 for names in candidates) or candidates[0] == candidates[1]:
        return None
    return candidates[0][0], candidates[1][0]


def order_for_audit(features: Sequence[str], *, is_chosen: bool) -> tuple[str, ...]:
    """Sex and race, for which Local Law 144 asks, first; others only if chosen.

    Where it is not clear which these are, all stay as they are.
    """
    required = find_sex_and_race(features)
    if required is None:
        return tuple(features)
    return (
        (*required, *(feature for feature in features if feature not in required)) if is_chosen else required
    )
