"""Names that people give to groups and to the favourable outcome. They word sentences only."""

from collections.abc import Collection, Iterator, Mapping

from ..base.errors import FieldProblem
from ..base.frozen import frozen_by_name
from ..base.values import name_problem, quote_names

MAX_DISPLAY_NAME = 60
MAX_NAMED_GROUPS = 1_000


@frozen_by_name
class GroupName:
    feature: str
    group: str
    name: str


@frozen_by_name
class DisplayNames:
    """Names of a monitor. `favourable` continues "they are": `rated No Risk`."""

    favourable: str | None = None
    groups: tuple[GroupName, ...] = ()

    def find(self, feature: str, group: str) -> str | None:
        return next(
            (
                group_name.name
                for group_name in self.groups
                if (group_name.feature, group_name.group) == (feature, group)
            ),
            None,
        )


def display_name_problems(
    names: DisplayNames, groups: Mapping[str, Collection[str] | None]
) -> Iterator[FieldProblem]:
    """Yields the problems of the names; `groups` are the labels by watched feature, None where every value
    may be one.
    """
    if names.favourable is not None:
        yield from _check_text("names.favourable", names.favourable)
    if len(names.groups) > MAX_NAMED_GROUPS:
        yield FieldProblem(
            "names.groups", f"must name at most {MAX_NAMED_GROUPS:,} groups, found {len(names.groups):,}"
        )
        return
    named: dict[str, dict[str, str]] = {}
    for group_name in names.groups:
        field = f"names.groups.{group_name.feature}.{group_name.group}"
        if group_name.feature not in groups:
            yield FieldProblem(
                f"names.groups.{group_name.feature}", "is not an attribute that the monitor watches"
            )
            continue
        labels = groups[group_name.feature]
        if labels is not None and group_name.group not in labels:
            yield FieldProblem(
                field,
                f"is not a group of {group_name.feature!r}; its groups are {quote_names(sorted(labels))}",
            )
        yield from _check_text(field, group_name.name)
        namesake = named.setdefault(group_name.feature, {}).setdefault(
            group_name.name.strip().casefold(), group_name.group
        )
        if namesake != group_name.group:
            yield FieldProblem(
                field,
                f"is the name of {namesake!r:.100}, too; two groups with one name cannot be distinguished",
            )


def _check_text(field: str, text: str) -> Iterator[FieldProblem]:
    problem = name_problem(text)
    if problem is None and len(text) > MAX_DISPLAY_NAME:
        problem = f"must have at most {MAX_DISPLAY_NAME} characters, found {len(text)}"
    if problem is not None:
        yield FieldProblem(field, problem)
