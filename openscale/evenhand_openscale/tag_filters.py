"""Filters of measurements: `tag:eq:value`, `tag:in:[a,b]`, `tag:null`, `tag:exists`, joined by commas."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .figures import count_issues
from .refused import invalid, not_found
from .v1 import Json

COLUMNS = ("run_id", "monitor_instance_id", "monitor_definition_id", "asset_revision")

MAX_TAG_TESTS = 20

_AT_COMMAS = re.compile(r",(?![^\[\]]*\])")


@dataclass(frozen=True, slots=True)
class TagTest:
    tag: str
    values: frozenset[str] | None
    is_there: bool = True

    def passes(self, tags: Mapping[str, object]) -> bool:
        found = tags.get(self.tag)
        if self.values is None:
            return (found is not None) == self.is_there
        return found is not None and str(found) in self.values


def read_tag_filter(sent: str | None) -> Sequence[TagTest]:
    pieces = _AT_COMMAS.split(sent) if sent else []
    if len(pieces) > MAX_TAG_TESTS:
        raise invalid(("filter", f"must have at most {MAX_TAG_TESTS} conditions, found {len(pieces)}"))
    return [_read_test(piece) for piece in pieces]


def read_filter_by_definition(sent: str | None, known: Collection[str]) -> Mapping[str, Sequence[TagTest]]:
    """Returns the conditions by monitor definition, whose id each begins with: `fairness.feature:eq:sex`. `known` ids exist."""
    found: dict[str, list[TagTest]] = {}
    for piece in _AT_COMMAS.split(sent) if sent else []:
        definition, dot, condition = piece.partition(".")
        if not dot:
            raise invalid(("filter", f"must begin with a monitor definition, as in fairness.feature:eq:sex; found {piece!r:.100}"))
        if definition not in known:
            raise not_found("monitor definition", definition)
        found.setdefault(definition, []).append(_read_test(condition))
    return found


def filtered(measurements: Iterable[Json], tests: Sequence[TagTest]) -> list[Json]:
    """Returns the measurements with those of their values that pass; issues are counted among these. One without values is left out."""
    if not tests:
        return list(measurements)
    found = []
    for one in measurements:
        entity = one["entity"]
        columns = {name: entity.get(name) for name in COLUMNS}
        values = []
        for value in entity["values"]:
            tags = columns | {tag["id"]: tag["value"] for tag in value["tags"]}
            if all(test.passes(tags) for test in tests):
                values.append(value)
        if values:
            found.append({**one, "entity": {**entity, "values": values, "issue_count": count_issues(values)}})
    return found


def _read_test(piece: str) -> TagTest:
    tag, _, rest = piece.partition(":")
    operator, has_value, value = rest.partition(":")
    if tag and not has_value and operator in ("null", "exists"):
        return TagTest(tag, None, is_there=operator == "exists")
    if tag and value and operator == "eq":
        return TagTest(tag, frozenset([value]))
    if tag and operator == "in" and re.fullmatch(r"\[[^\[\]]+\]", value):
        return TagTest(tag, frozenset(value[1:-1].split(",")))
    raise invalid(("filter", f"must be written tag:eq:value, tag:in:[a,b], tag:null or tag:exists; found {piece!r:.100}"))
