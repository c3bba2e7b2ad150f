"""Attributes that rules name, recognised by words of column names."""

import re
from collections.abc import Sequence

SEX = ("sex", "gender")
RACE = ("race", "races", "ethnic", "ethnicity")


def split_name(name: str) -> frozenset[str]:
    """Splits a name into words in lower case.

    `applicant_gender`, `applicantGender` and `Applicant gender` have the same.
    """
    # Whole words: `language` is no `age`, and `embrace` no `race`.
    spaced_name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return frozenset(letters.casefold() for letters in re.findall(r"[^\W\d_]+", spaced_name))


def order_for_audit(features: Sequence[str], *, is_chosen: bool) -> tuple[str, ...]:
    """Puts sex and race, for which Local Law 144 asks, first; leaves out others unless they were chosen.

    All stay as they are unless just one attribute is named like each.
    """
    of_sex, of_race = (
        [feature for feature in features if not split_name(feature).isdisjoint(nouns)]
        for nouns in (SEX, RACE)
    )
    required = (*of_sex, *of_race)
    if (len(of_sex), len(of_race)) != (1, 1) or of_sex == of_race:
        return tuple(features)
    return tuple(dict.fromkeys((*required, *features))) if is_chosen else required
