"""Pairs the halves of calls: in memory where both come together, else by way of the database, where they wait."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..ingest.exchanges import CapturedBody, Exchange
from ..store.database.engine import Database
from ..store.records.call_halves import CallKey, StoredHalf, add_halves, find_halves, remove_halves
from .entries import CallHalf, CallSide, CallSource, CompleteCall


@dataclass(frozen=True, slots=True)
class PairedCalls:
    """Complete calls with their keys, and the number of halves that wait for their other half."""

    calls: list[CompleteCall]
    keys: list[CallKey]
    waiting: int


def pair_halves(database: Database, halves: Sequence[CallHalf]) -> PairedCalls:
    """Returns the calls that these halves complete; the others are stored to wait. Blocks.

    Raises:
        Unavailable: the database does not answer.
    """
    found: defaultdict[CallKey, dict[str, StoredHalf]] = defaultdict(dict)
    names = {one.deployment_no: one.deployment_id for one in halves}
    for one in halves:
        found[CallKey(one.deployment_no, one.call_id)].setdefault(
            one.side,
            StoredHalf(
                deployment_no=one.deployment_no,
                call_id=one.call_id,
                side=one.side.value,
                source=one.source.value,
                received_at=one.received_at,
                stated_at=one.stated_at,
                content_type=one.body.content_type,
                encoding=one.body.encoding,
                body=one.body.body,
            ),
        )
    alone = [key for key, sides in found.items() if len(sides) < len(CallSide)]
    if alone:
        # Committed before it is looked for the other half: of two processes that get one each, one sees both.
        with database.transaction() as session:
            add_halves(session, [half for key in alone for half in found[key].values()])
        with database.transaction() as session:
            for half in find_halves(session, alone):
                found[CallKey(half.deployment_no, half.call_id)][half.side] = half
    complete = {key: sides for key, sides in found.items() if len(sides) == len(CallSide)}
    calls = [_join(names[key.deployment_no], sides[CallSide.REQUEST], sides[CallSide.RESPONSE]) for key, sides in complete.items()]
    return PairedCalls(calls, list(complete), len(found) - len(complete))


def forget_calls(database: Database, keys: Sequence[CallKey]) -> None:
    """Deletes the halves of calls whose records are stored; blocks.

    Raises:
        Unavailable: the database does not answer.
    """
    with database.transaction() as session:
        remove_halves(session, keys)


def _join(deployment_id: str, request: StoredHalf, response: StoredHalf) -> CompleteCall:
    exchange = Exchange(
        call_id=response.call_id,
        scored_at=response.stated_at or response.received_at,
        request=CapturedBody(request.body, request.content_type, request.encoding),
        answer=CapturedBody(response.body, response.content_type, response.encoding),
    )
    return CompleteCall(
        deployment_id=deployment_id,
        deployment_no=response.deployment_no,
        source=CallSource(response.source),
        received_at=response.received_at,
        exchange=exchange,
    )
