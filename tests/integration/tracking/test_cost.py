"""The work of an update: it does not grow with the comparisons in statements, and after a restart it does not begin again."""

from dataclasses import replace
from typing import Any

import pytest

from app.database.engine import Database
from app.domain.monitor import MonitoredAttribute
from app.evidence import figure_state
from app.evidence import update as updating
from app.evidence.queries.eras import find_deployments_to_follow
from app.evidence.queries.figure_states import change_figures, read_present_figures
from app.evidence.update import update_deployment
from tests.builders.evidence_worlds import SEX, START, log, states, update, watched, world
from tests.builders.statements import counted
from tests.databases import Databases
from tests.scenes import HOUR

METRICS = ("disparate_impact", "statistical_parity_difference")
PLACE = MonitoredAttribute(feature="place", monitored=("here",), reference=("there",))


def test_after_a_restart_nothing_is_computed_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = watched(database, metrics=METRICS)
    log(stage, world([0.95] * 60, seed=1), first_no=1)
    update(stage, START + 60 * HOUR)
    before = states(stage)

    restarted = Database(database.url)
    with counted(monkeypatch) as sent:
        update_deployment(restarted, stage.deployment.no, START + 60 * HOUR)
    restarted.close()

    assert states(stage) == before
    assert [statement for statement in sent if "evidence_hours" in statement or "evidence_figures.state" in statement] == []
    assert [
        statement for statement in sent if statement.startswith(("UPDATE evidence", "DELETE FROM evidence", "INSERT INTO evidence"))
    ] == []


@pytest.mark.nightly
def test_more_comparisons_send_no_more_statements(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = []
    for attributes, metrics in (((SEX,), METRICS[:1]), ((SEX, PLACE), METRICS)):
        with databases.lent() as url:
            stage = watched(Database(url), metrics=metrics, attributes=attributes)
            log(stage, world([0.95] * 60, seed=1), first_no=1)
            update(stage, START + 50 * HOUR)
            with counted(monkeypatch) as sent:
                update(stage, START + 51 * HOUR)
            numbers.append(len([statement for statement in sent if "evidence_" in statement]))
            stage.database.close()

    assert numbers[1] <= numbers[0]


@pytest.mark.thorough
def test_a_long_past_is_computed_in_pieces_that_change_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Postgres ends a transaction that sends nothing for a minute."""
    both = replace(SEX, monitored=("female", "male"), reference=("unknown",))
    stage = watched(database, metrics=METRICS, attributes=(both,))
    log(stage, world([0.95] * 60, seed=3), first_no=1)
    update(stage, START + 60 * HOUR)
    whole = states(stage)

    def compute_again() -> int:
        with stage.database.transaction() as session:
            change_figures(session, [figure.no for figure in read_present_figures(session, 1)], is_stale=True)
        return update(stage, START + 60 * HOUR)

    assert (len(whole), compute_again()) == (6, 1)
    monkeypatch.setattr(figure_state, "MAX_WEIGHED_HOURS", 7)
    assert compute_again() == 1
    assert states(stage) == whole


@pytest.mark.nightly
def test_hours_that_are_added_together_give_the_same_states_as_one_after_the_other(databases: Databases) -> None:
    found = []
    for step in (1, 7, 60):
        with databases.lent() as url:
            stage = watched(Database(url), attributes=(SEX,), metrics=METRICS)
            log(stage, world([0.95] * 30 + [0.4] * 30, seed=2), first_no=1)
            for hour in range(step, 60 + step, step):
                update(stage, START + min(hour, 60) * HOUR)
            found.append(states(stage))
            stage.database.close()

    assert found[0] == found[1] == found[2]


class _Killed(Exception):
    """The process ended here."""


@pytest.mark.parametrize(
    "is_again", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["after hours were counted", "after hours were counted again"]
)
def test_figures_that_a_killed_process_left_late_are_due(database: Database, monkeypatch: pytest.MonkeyPatch, *, is_again: bool) -> None:
    stage, latest = watched(database, metrics=METRICS), START + 60 * HOUR
    log(stage, world([0.95] * 60, seed=1), first_no=1)
    if is_again:
        update(stage, latest)
        log(stage, world([0.95], seed=2, records=6), first_no=100_000, noted=True)

    def be_killed(*_: Any) -> int:  # noqa: ANN401 - those of the function
        raise _Killed

    with monkeypatch.context() as patched:
        patched.setattr(updating, "compute_figures_forward", be_killed)
        with pytest.raises(_Killed):
            update(stage, latest)
    with database.transaction() as session:
        left_late = find_deployments_to_follow(session, latest=latest)
    steps = update(stage, latest)
    with database.transaction() as session:
        afterwards = find_deployments_to_follow(session, latest=latest)
        figures = read_present_figures(session, 1)

    assert steps > 0
    assert (left_late, afterwards) == ([stage.deployment.no], [])
    assert [(figure.is_stale, figure.until >= latest) for figure in figures] == [(False, True)] * len(METRICS)
