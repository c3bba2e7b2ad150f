"""Which records of a page a model refuses, found out by asking for parts of it."""

import asyncio
import math
from collections.abc import Callable, Sequence
from random import Random

import pytest

from app.base.errors import PageRefused
from app.calls.scoring.scoring_client import MAX_REFUSED_CALLS_UNANSWERED, Refusal, RefusalSearch, Scored
from app.domain.record import Prediction
from app.payloads.wire import Rows

COLUMNS = ("sex", "income", "age")


class Model:
    """Refuses any page that holds a row which `refuses`, as a server that checks the whole page does; counts its calls."""

    def __init__(self, refuses: Callable[[Sequence[object]], bool]) -> None:
        self.refuses = refuses
        self.calls = 0

    async def ask(self, rows: Rows) -> list[Prediction]:
        self.calls += 1
        if any(map(self.refuses, rows)):
            raise PageRefused("The model's endpoint answered 400 Bad Request.", answer="bad")
        return [Prediction(1) for _ in rows]


def search(model: Model, *pages: Rows) -> list[Scored]:
    async def asked() -> list[Scored]:
        finder, turn = RefusalSearch(COLUMNS), asyncio.Lock()
        return [one for page in pages for one in await finder.score(page, model.ask, turn)]

    return asyncio.run(asked())


def refused(found: Sequence[Scored]) -> list[int]:
    return [place for place, one in enumerate(found) if isinstance(one, Refusal)]


def null_income(row: Sequence[object]) -> bool:
    return row[1] is None


def page(rows: int) -> list[list[str | int | None]]:
    return [["female" if no % 2 else "male", 1000 * no, no] for no in range(rows)]


def test_one_null_costs_a_few_calls_and_its_column_is_named() -> None:
    rows, model = page(1000), Model(null_income)
    rows[617][1] = None

    found = search(model, rows)

    assert refused(found) == [617]
    assert isinstance(found[617], Refusal)
    assert found[617].nulls == ("income",)
    assert model.calls == 3  # the page, the records without a null, the one with


def test_many_records_with_nulls_in_the_same_column_are_not_each_asked_for_and_later_pages_cost_one_call_more() -> None:
    pages, model = [page(1000) for _ in range(5)], Model(null_income)
    for rows in pages:
        for row in rows[::3]:
            row[1] = None

    found = search(model, *pages)

    assert refused(found) == [1000 * no + place for no in range(5) for place in range(0, 1000, 3)]
    assert model.calls == 6 + 4 * 2


def test_nulls_that_the_model_takes_are_answered() -> None:
    rows, model = page(100), Model(null_income)
    for row in rows[10:60]:
        row[2] = None
    for row in rows[50:70]:
        row[1] = None

    assert refused(search(model, rows)) == list(range(50, 70))


def test_a_value_that_the_model_does_not_know_is_found_by_halving() -> None:
    rows, model = page(1000), Model(lambda row: row[0] == "divers")
    rows[333][0] = "divers"

    assert refused(search(model, rows)) == [333]
    assert model.calls <= 1 + 2 * math.ceil(math.log2(1000))


def test_a_model_that_refuses_everything_is_given_up_soon_with_its_own_words() -> None:
    model = Model(lambda _row: True)

    with pytest.raises(PageRefused, match=r"answered 400 Bad Request\. .* there are too many of them"):
        search(model, page(10_000))

    assert model.calls <= MAX_REFUSED_CALLS_UNANSWERED + 2


@pytest.mark.parametrize("seed", range(30))
def test_exactly_the_refused_records_are_found(seed: int) -> None:
    random = Random(seed)
    rows = page(random.randint(1, 300))
    for row in random.sample(rows, random.randint(0, min(len(rows) - 1, 8))):
        row[random.randrange(3)] = random.choice([None, "unknown"])

    def is_bad(row: Sequence[object]) -> bool:
        return row[1] is None or "unknown" in row

    found = search(Model(is_bad), rows)

    assert refused(found) == [place for place, row in enumerate(rows) if is_bad(row)]


def test_a_few_refused_records_never_speak_for_nulls_that_were_answered() -> None:
    """Every row holds a null that the model takes; a few are refused for another reason, their copies next to each other."""
    rows = [("bad" if 200 <= no < 206 or 700 <= no < 712 else "good", None, no) for no in range(1000)]
    model = Model(lambda row: row[0] == "bad")

    found = search(model, *(rows[start : start + 250] for start in range(0, 1000, 250)))

    assert refused(found) == [no for no, row in enumerate(rows) if row[0] == "bad"]
