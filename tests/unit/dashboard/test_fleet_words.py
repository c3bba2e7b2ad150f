"""Evidence of a deployment in a few words."""

from datetime import UTC, datetime

import pytest

from app.evidence.queries.figure_states import EvidenceCounts
from app.pages.overview_page import evidence_words

SINCE = datetime(2026, 11, 9, 13, tzinfo=UTC)


def counts(unfair: int, confirmed_fair: int, undecided: int, since: datetime | None = None) -> EvidenceCounts:
    return EvidenceCounts(unfair=unfair, confirmed_fair=confirmed_fair, undecided=undecided, unfair_since=since, counted_until=SINCE)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, ""),
        (counts(0, 0, 0), ""),
        (counts(1, 5, 2, SINCE), "since 9 Nov 2026"),
        (counts(0, 5, 1), ""),
        (counts(0, 5, 0), "confirmed fair"),
        (counts(0, 0, 3), ""),
    ],
)
def test_one_unfair_figure_makes_it_unfair_and_only_all_together_make_it_fair(found: EvidenceCounts | None, words: str) -> None:
    assert evidence_words(found) == words
