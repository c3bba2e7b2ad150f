"""Groups of a column of categories: the reference is the best treated of the large groups, everybody else is monitored.

Where the best treated is not surely better off than the customary reference, chance does not choose: the customary one stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.domain.monitor_rules import MAX_GROUPS
from app.domain.texts import joining_problem, name_problem
from app.domain.values import GroupValue, label_of
from app.metrics.intervals import newcombe
from app.training.recommended.choice import LARGE_SHARE, SMALL, Choice, GroupShare, NoChoice, Role, share_of, small_warnings
from app.training.recommended.detecting import Detected
from app.training.recommended.kinds import NO_ANSWER
from app.training.recommended.observed import Count

LEFT_TO_COMPARE = 2


@dataclass(frozen=True, slots=True)
class _Meant:
    """The values that mean one thing."""

    meaning: str
    values: tuple[GroupValue, ...]
    count: Count


def choose_categories(detected: Detected, counts: Mapping[GroupValue, Count], *, has_outcomes: bool) -> Choice:
    """The groups of a detected column.

    Raises:
        NoChoice: only one group has records.
    """
    meanings = detected.values.meanings
    ordered = sorted(counts, key=lambda value: (-counts[value].records, label_of(value)))
    usable = [value for value in ordered if meanings.get(label_of(value)) != NO_ANSWER and not _unusable(value)]
    kept = usable[: 2 * MAX_GROUPS]
    meant = _meant(kept, counts, meanings)
    if len(meant) < LEFT_TO_COMPARE:
        raise NoChoice("all its records are of one group, so there is nobody to compare with")
    reference, because = _reference(meant, detected, has_outcomes=has_outcomes)

    def compared_with(one: _Meant) -> Choice:
        chosen = one.values[:MAX_GROUPS]
        monitored = tuple(value for value in kept if value not in one.values)[:MAX_GROUPS]
        groups: list[GroupShare] = []
        for value in ordered:
            role: Role = "monitored" if value in monitored else "reference" if value in chosen else "neither"
            meaning = meanings.get(label_of(value))
            groups.append(share_of(value, counts[value], role=role, meaning=meaning, has_outcomes=has_outcomes))
        warnings = (*_left_out(groups), *small_warnings(groups))
        return Choice(monitored=monitored, reference=chosen, groups=tuple(groups), because=because, warnings=warnings)

    customary = _customary(meant, detected)
    proposed = compared_with(reference)
    return replace(
        proposed,
        warnings=(*proposed.warnings, *_doubts(reference, meant, customary)),
        customary=None if customary is None else _by_custom(compared_with(customary), customary, meant),
    )


def _unusable(value: GroupValue) -> bool:
    return isinstance(value, str) and bool(name_problem(value) or joining_problem(value))


def _meant(values: list[GroupValue], counts: Mapping[GroupValue, Count], meanings: Mapping[str, str]) -> list[_Meant]:
    of_meaning: dict[str, list[GroupValue]] = {}
    for value in values:
        of_meaning.setdefault(meanings.get(label_of(value), label_of(value)), []).append(value)
    return [_Meant(meaning, tuple(same), sum((counts[value] for value in same), Count())) for meaning, same in of_meaning.items()]


def _reference(meant: list[_Meant], detected: Detected, *, has_outcomes: bool) -> tuple[_Meant, str]:
    whole = sum(one.count.records for one in meant)
    large = [one for one in meant if one.count.records >= max(SMALL, LARGE_SHARE * whole)]
    largest = max(meant, key=lambda one: one.count.records)
    rated = [(one.count.rate, one.count.records, one) for one in large if one.count.rate is not None]
    customary = _customary(meant, detected)
    if has_outcomes and rated and len(rated) == len(large):
        if customary is not None and customary in large:
            rated = [one for one in rated if one[2] is customary or _is_better(one[2].count, customary.count)]
        rate, _, best = max(rated, key=lambda one: one[:2])
        if customary is not None and any((one.count.rate or 0.0) > rate for one in large):
            if best is customary:
                return best, f"{_named(best)} usually is the reference, and no large group surely has a higher favourable rate"
            found = f"{_named(best)} surely has a higher favourable rate ({rate:.1%}) than {_named(customary)}"
            return best, f"{found}; a still higher one may be chance"
        return (
            best,
            f"{_named(best)} has the highest favourable rate ({rate:.1%}) of the groups with at least {LARGE_SHARE:.0%} of the records",
        )
    why = "favourable rates are not known" if not has_outcomes or large else f"no group has {SMALL} records"
    if customary is not None and customary in large:
        return customary, f"{why}, so {_named(customary)}, which usually is the reference"
    return largest, f"{why}, so {_named(largest)}, the largest group"


def _customary(meant: list[_Meant], detected: Detected) -> _Meant | None:
    return next((one for one in meant if one.meaning == detected.row.customary_reference), None)


def _by_custom(choice: Choice, reference: _Meant, meant: list[_Meant]) -> Choice:
    """The choice with what speaks for it and against it: custom, and those who fare better all the same."""
    better = [_named(one) for one in meant if one is not reference and _is_better(one.count, reference.count)]
    found = (
        [f"surely better off than {_named(reference)} in these data: {', '.join(better)}. A check will show ratios above 1"]
        if better
        else []
    )
    because = f"{_named(reference)} usually is the reference, whatever the rates"
    return replace(choice, because=because, warnings=(*choice.warnings, *found))


def _named(one: _Meant) -> str:
    values = ", ".join(f"{label_of(value)!r:.60}" for value in one.values[:3])
    return f"{values} and {len(one.values) - 3} more" if len(one.values) > 3 else values  # noqa: PLR2004 - as many as are shown


def _left_out(groups: list[GroupShare]) -> list[str]:
    out = [group for group in groups if group.role == "neither" and group.value is not None]
    if not out:
        return []
    listed = ", ".join(f"{label_of(group.value)!r:.60}" for group in out[:5] if group.value is not None)
    more = f" and {len(out) - 5} more" if len(out) > 5 else ""  # noqa: PLR2004 - as many as are shown
    records = sum(group.records for group in out)
    why = "because they name no group, or are more than a monitor lists; checks count and show them"
    return [f"in neither group: {listed}{more} ({records:,} records), {why}"]


def _doubts(reference: _Meant, meant: list[_Meant], customary: _Meant | None) -> list[str]:
    found: list[str] = []
    others = [one for one in meant if one is not reference]
    if reference.count.rate is not None and all(_is_alike(reference.count, one.count) for one in others):
        found.append("the rates do not differ beyond chance: which group is the reference is a choice, not a finding")
    if customary is not None and customary is not reference and reference.count.rate is not None:
        found.append(
            f"usually {_named(customary)} is the reference; in these data {_named(reference)} surely fares better."
            " Accept the customary groups if the law says so"
        )
    return found


def _is_better(one: Count, other: Count) -> bool:
    return (one.rate or 0.0) > (other.rate or 0.0) and not _is_alike(one, other)


def _is_alike(one: Count, other: Count) -> bool:
    if not one.classified or not other.classified:
        return True
    lower, upper, _ = newcombe(one.favourable, one.classified, other.favourable, other.classified)
    return lower <= 0 <= (1.0 if upper is None else upper)
