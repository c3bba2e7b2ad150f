"""The hash chain, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.access.audit.event_queries import FIRST_HASH, AuditEvent, ChainHead, check_chain, hash_event

BEGIN = datetime(2026, 7, 1, 12, tzinfo=UTC)

TEXTS = st.text(max_size=8)


@st.composite
def chains(draw: st.DrawFn) -> list[AuditEvent]:
    """Sealed events, 2 to 8."""
    sealed: list[AuditEvent] = []
    hashed = FIRST_HASH
    for position in range(1, draw(st.integers(2, 8)) + 1):
        event = AuditEvent(
            no=draw(st.integers(1, 5)) + position * 10,
            at=BEGIN + timedelta(microseconds=draw(st.integers(0, 10**9))),
            actor=draw(TEXTS),
            action=draw(TEXTS),
            outcome="done",
            address=draw(TEXTS),
            request_id=draw(TEXTS),
            route=draw(TEXTS),
            deployment_id=draw(st.none() | TEXTS),
            subject=draw(st.none() | TEXTS),
            details={"fields": draw(st.lists(TEXTS, max_size=2))},
            position=position,
        )
        hashed = hash_event(hashed, event)
        sealed.append(replace(event, hash=hashed))
    return sealed


def _head(chain: list[AuditEvent]) -> ChainHead:
    return ChainHead(len(chain), chain[-1].hash or b"")


@settings(max_examples=50)
@given(chains())
def test_a_chain_that_nobody_touched_is_intact_up_to_its_head(chain: list[AuditEvent]) -> None:
    report = check_chain(chain, anchor=_head(chain))

    assert report.fault is None
    assert report.head == _head(chain)


@settings(max_examples=50)
@given(chains(), st.data())
@pytest.mark.thorough
def test_an_event_that_is_deleted_is_noticed_the_last_one_with_a_noted_head(chain: list[AuditEvent], data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, len(chain) - 1))

    assert check_chain(chain[:gone] + chain[gone + 1 :], anchor=_head(chain)).fault is not None
    if gone < len(chain) - 1:
        assert check_chain(chain[:gone] + chain[gone + 1 :]).fault is not None


@settings(max_examples=50)
@given(chains(), st.data())
@pytest.mark.nightly
def test_a_member_that_is_changed_is_noticed(chain: list[AuditEvent], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(chain) - 1))
    event = chain[place]
    changed = data.draw(
        st.sampled_from(
            [
                replace(event, actor=event.actor + "x"),
                replace(event, at=event.at + timedelta(microseconds=1)),
                replace(event, outcome="refused"),
                replace(event, no=event.no + 1),
                replace(event, deployment_id="x" if event.deployment_id is None else None),
                replace(event, details={}),
            ]
        )
    )

    assert check_chain([*chain[:place], changed, *chain[place + 1 :]]).head.position == place


@settings(max_examples=50)
@given(chains(), st.data())
@pytest.mark.thorough
def test_events_that_changed_places_are_noticed_with_their_old_positions_and_with_new_ones(
    chain: list[AuditEvent], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(chain) - 2))
    first, second = chain[place], chain[place + 1]
    moved = [replace(second, position=first.position), replace(first, position=second.position)]

    assert check_chain([*chain[:place], second, first, *chain[place + 2 :]]).fault is not None
    assert check_chain([*chain[:place], *moved, *chain[place + 2 :]]).fault is not None


@settings(max_examples=25)
@given(chains())
def test_a_chain_that_was_written_again_as_a_whole_differs_from_the_noted_head(chain: list[AuditEvent]) -> None:
    again, hashed = [], FIRST_HASH
    for event in chain:
        changed = replace(event, actor=event.actor + "x")
        hashed = hash_event(hashed, changed)
        again.append(replace(changed, hash=hashed))

    assert check_chain(again).fault is None
    assert "written again" in str(check_chain(again, anchor=_head(chain)).fault)
