"""Groups of a column of postal codes: only where a few of them hold the records."""

from collections.abc import Mapping

from app.domain.values import GroupValue, label_of
from app.training.recommended.categories import choose_categories
from app.training.recommended.choice import Choice, NoChoice
from app.training.recommended.detecting import Detected
from app.training.recommended.kinds import NO_ANSWER
from app.training.recommended.observed import Count
from app.training.recommended.values import ValueMatch

ENOUGH_RECORDS = 100
"""Of one postal code that is compared."""

MOST_PLACES = 20
COVERED = 0.5
"""Share of the records that such codes must hold together."""

PREFIX = 3


def choose_places(detected: Detected, counts: Mapping[GroupValue, Count], *, has_outcomes: bool) -> Choice:
    """The groups of a column of postal codes.

    Raises:
        NoChoice: too few codes have enough records; says what the prefixes hold.
    """
    whole = sum(count.records for count in counts.values())
    enough = {value: count for value, count in counts.items() if count.records >= ENOUGH_RECORDS}
    covered = sum(count.records for count in enough.values())
    if not 1 < len(enough) <= MOST_PLACES or covered < COVERED * whole:
        raise NoChoice(_why_not(counts, enough, covered=covered, whole=whole))
    rare = {label_of(value): NO_ANSWER for value in counts if value not in enough}
    chosen = choose_categories(
        Detected(detected.row, detected.confidence, detected.name, ValueMatch(detected.values.fit, detected.values.sentence, rare)),
        counts,
        has_outcomes=has_outcomes,
    )
    proxy = "a postal code is no protected attribute but may stand for one: which codes are monitored is for a person to say"
    groups = tuple(group for group in chosen.groups if group.role != "neither")
    return Choice(
        monitored=chosen.monitored,
        reference=chosen.reference,
        groups=groups,
        because=chosen.because,
        warnings=(proxy, *_rare(len(counts) - len(enough), whole - covered), *(one for one in chosen.warnings if "neither" not in one)),
    )


def _rare(codes: int, records: int) -> list[str]:
    return [f"in neither group: {codes:,} postal codes of fewer than {ENOUGH_RECORDS} records ({records:,} records)"] if codes else []


def _why_not(counts: Mapping[GroupValue, Count], enough: Mapping[GroupValue, Count], *, covered: int, whole: int) -> str:
    prefixes: dict[str, int] = {}
    for value, count in counts.items():
        prefix = label_of(value).strip()[:PREFIX]
        prefixes[prefix] = prefixes.get(prefix, 0) + count.records
    often = sorted(((records, prefix) for prefix, records in prefixes.items() if records >= ENOUGH_RECORDS), reverse=True)
    found = (
        f"it holds {len(counts):,} postal codes, of which {len(enough):,} have {ENOUGH_RECORDS} records or more ({covered:,} of {whole:,})"
    )
    if not 1 < len(often) <= MOST_PLACES or len(often) >= len(counts):
        return f"{found}: too thin to compare"
    listed = ", ".join(f"{prefix} ({records:,})" for records, prefix in often[:5])
    return f"{found}. Log the first {PREFIX} characters as a field of their own to compare areas: {listed}"
