"""How often columns are taken for what they are: the figures that the page quotes."""

from collections.abc import Sequence

import pytest

from app.deployments.recommendations.detect_kind import DetectedKind, detect_kind
from tests.builders.docs_pages import REPOSITORY, table
from tests.unit.recommendations.found_in_the_wild import CASES, Case
from tests.unit.recommendations.later_strangers import LATER
from tests.unit.recommendations.reading import counted_of, is_held_out
from tests.unit.recommendations.strangers import STRANGERS

PAGE = REPOSITORY / "docs" / "concepts" / "recommended-monitors.md"


def kind_of(case: Case) -> str | None:
    found = detect_kind(case.name, counted_of(case))
    return found.row.kind.value if isinstance(found, DetectedKind) else None


def figures(cases: Sequence[Case]) -> list[str]:
    """Columns, those of a kind, precision and recall. A column taken for another kind counts against both."""
    pairs = [(case.expected, kind_of(case)) for case in cases]
    right = sum(expected is not None and expected == found for expected, found in pairs)
    proposed = sum(found is not None for _, found in pairs)
    of_a_kind = sum(expected is not None for expected, _ in pairs)
    return [str(len(cases)), str(of_a_kind), f"{right / proposed:.3f}", f"{right / of_a_kind:.3f}"]


@pytest.mark.nightly
def test_the_page_quotes_what_the_detector_does() -> None:
    quoted = {row[0]: row[1:5] for row in table(PAGE, "Columns from")}

    assert quoted == {
        "our list, looked at": figures([case for case in CASES if not is_held_out(case)]),
        "our list, held out": figures([case for case in CASES if is_held_out(case)]),
        "data sets of others": figures(STRANGERS),
        "data sets of others, later": figures(LATER),
    }


@pytest.mark.thorough
def test_no_free_text_id_or_amount_is_proposed() -> None:
    wrong = [case.name for case in (*CASES, *STRANGERS, *LATER) if case.expected is None and kind_of(case) is not None]

    assert wrong == []


def test_no_column_is_listed_twice() -> None:
    seen = [(case.name, case.values) for case in CASES]

    assert len(set(seen)) == len(seen)
