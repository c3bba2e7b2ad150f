"""Pairs the halves of calls, which wait in the database."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ingest.exchanges import CapturedBody, Exchange
from ..security.column_keys import open_body, seal_body
from ..store.database.engine import Database
from ..store.database.sealer import Sealer
from ..store.deployments.deployments import Deployments
from ..store.records.call_halves import CallKey, StoredHalf, add_halves, find_halves, remove_halves
from .entries import CallHalf, CallSide, CallSource, CompleteCall

_SEALED = "sealed "
"""Begins the content encoding of an encrypted half; no real one has a blank."""


@dataclass(frozen=True, slots=True)
class PairedCalls:
    calls: list[CompleteCall]
    keys: list[CallKey]
    waiting: int


def pair_halves(database: Database, sealer: Sealer, halves: Sequence[CallHalf]) -> PairedCalls:
    """Calls that these halves complete; the others are stored to wait. Blocks.

    Of a deployment with protected columns they wait encrypted: a body holds values that must not be stored.

    Raises:
        SetupError: the key of protected columns was stored with another secret key.
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
        # Committed first: of two processes that get one half each, one sees both.
        with database.transaction() as session:
            keys = Deployments(session, sealer).column_keys({key.deployment_no for key in alone})
            add_halves(session, [_seal(half, keys.get(half.deployment_no)) for key in alone for half in found[key].values()])
        with database.transaction() as session:
            for half in find_halves(session, alone):
                found[CallKey(half.deployment_no, half.call_id)][half.side] = _open(half, keys.get(half.deployment_no))
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


def _seal(half: StoredHalf, key: bytes | None) -> StoredHalf:
    return half if key is None else replace(half, body=seal_body(key, half.body), encoding=_SEALED + half.encoding)


def _open(half: StoredHalf, key: bytes | None) -> StoredHalf:
    # One that came before a column was protected is not sealed.
    if key is None or not half.encoding.startswith(_SEALED):
        return half
    return replace(half, body=open_body(key, half.body), encoding=half.encoding.removeprefix(_SEALED))


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
        source=CallSource.EVENTS,
        received_at=response.received_at,
        exchange=exchange,
    )
