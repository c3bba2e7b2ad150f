"""Whatever was logged, imported, labelled, removed and checked in whatever order: figures are those of a brute force over all of it."""

from collections.abc import Callable, Iterator, Mapping
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.database.engine import Database
from app.domain.deployment import Endpoint
from tests.builders.applicants import APPLICANT, monitor_of
from tests.integration.checks.histories import History
from tests.models.serving import ModelServer
from tests.scenes import scene

LONGEST_AGO = 300
"""Minutes that imports reach back, which is before the first checks, too."""

STEPS: Mapping[str, Callable[[History, int, int], None]] = {
    "log": lambda history, many, _: history.log(many, many, many // 2),
    "import": lambda history, many, ago: history.log(many, many, 0, minutes_ago=ago),
    "commit late": lambda history, many, ago: history.log(many, 1, 1, minutes_ago=ago % 10),
    "label": lambda history, many, _: history.label(many),
    "import labels": lambda history, many, ago: history.label(many, minutes_ago=ago),
    "label what is not there yet": lambda history, many, ago: history.label(many, minutes_ago=ago, before_their_records=True),
    "label features": lambda history, many, ago: history.label_features(many, minutes_ago=ago),
    "remove": lambda history, many, _: history.remove_oldest(many),
    "wait": lambda history, _, ago: history.let_pass(ago // 3),
    "check now": lambda history, *_: history.check_now(),
    "check the hours": lambda history, *_: history.check_hours(),
    "check a range": lambda history, *_: history.check_range(),
}

steps = st.tuples(st.sampled_from(list(STEPS)), st.integers(1, 6), st.integers(0, LONGEST_AGO))


@pytest.fixture(scope="module")
def counted() -> Iterator[dict[str, int]]:
    """How many checks carried figures forward and how many looked for themselves: histories that see only one see nothing."""
    found = {"carried": 0, "looked": 0}
    yield found
    assert min(found.values()) > 0


def begun(database: Database, endpoint: Endpoint | None, most: int, seed: int) -> History:
    """A deployment of its own with some records; only what the brute force knows is measured, to be quick."""
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE deployments SET id = 'earlier-' || no WHERE id = 'a-model'")
    monitor = monitor_of(min_records=8, max_records=most, metrics=("favourable_rate", "accuracy"))
    history = History(scene(database, APPLICANT, monitor, endpoint=endpoint), Random(seed), min_records=8, max_records=most)
    history.log(6, 6, 3)
    return history


@pytest.mark.nightly
@pytest.mark.parametrize("asks", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(chosen=st.lists(steps, min_size=5, max_size=10), most=st.sampled_from((8, 12, 1_000)), seed=st.integers(0, 2**32))
def test_figures_are_carried_exactly_while_a_brute_force_finds_the_same_records_and_labels(
    database: Database,
    server: ModelServer,
    counted: dict[str, int],
    chosen: list[tuple[str, int, int]],
    most: int,
    seed: int,
    *,
    asks: bool,
) -> None:
    history = begun(database, Endpoint(url=server.url) if asks else None, most, seed)

    for name, many, ago in chosen:
        history.let_pass(1)
        STEPS[name](history, many, ago)
    history.let_pass(1)
    history.check_range()
    history.check_now()
    history.let_pass(60)
    history.check_hours()

    counted["carried"] += history.carried
    counted["looked"] += history.looked
