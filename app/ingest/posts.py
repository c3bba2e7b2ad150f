"""Posts of one record each that arrive at about the same time: read, encoded and written together, and answered one by one.

Most of the time of a single post was spent on objects of its own: a task, a future, a batch, lists with one element. Here they are made
for all posts of a deployment that came in one pass of the event loop. Anything unusual is handed back, to be answered in the ordinary way.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import structlog
from msgspec import Struct

from ..domain.arrivals import LogKind, RecordSource
from ..errors import EvenhandError, Unavailable
from ..store.writing import GroupCommit, NoPartition, RecordNumbers, RowsRefused, StaleTarget
from ..telemetry.metrics import ingest_records
from .encode import payload_batch
from .erased import find_erased
from .fresh_ids import with_fresh_ids
from .limits import StatedTimes
from .plan import IngestPlan

_accepted = ingest_records.labels(LogKind.PAYLOAD, "accepted")

log = structlog.get_logger()


class Post(Protocol):
    """A request with one record. Exactly one of its methods is called, once."""

    body: bytes

    def hand_back(self) -> None:
        """Has it answered in the ordinary way: nothing was stored for it, or its record is stored already."""

    def fail(self, error: EvenhandError | None) -> None:
        """Answers with the error; None for one that was not foreseen. Whether the record is stored may be unknown."""


class PostGroup(Struct, eq=False):
    """Posts that are written together. `succeed` answers all that are given to it, whose records are stored now."""

    plan: IngestPlan
    source: RecordSource
    succeed: Callable[[Sequence[Post]], None]
    posts: list[Post] = []


class SinglePosts:
    """Single posts of one process. Belongs to one event loop."""

    def __init__(self, commits: GroupCommit, numbers: RecordNumbers, *, clock: Callable[[], datetime]) -> None:
        self._commits = commits
        self._numbers = numbers
        self._clock = clock
        self._waiting: dict[tuple[int, RecordSource], PostGroup] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, post: Post, plan: IngestPlan, source: RecordSource, succeed: Callable[[Sequence[Post]], None]) -> None:
        """Stores the post's record together with those of other posts that are added before the event loop goes on."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._begin)
        place = (id(plan), source)
        group = self._waiting.get(place)
        if group is None:
            group = self._waiting[place] = PostGroup(plan, source, succeed)
        group.posts.append(post)

    async def stop(self) -> None:
        """Waits until every post is answered."""
        while self._tasks or self._waiting:
            await asyncio.sleep(0)
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self) -> None:
        groups, self._waiting = self._waiting, {}
        for group in groups.values():
            task = asyncio.create_task(self._answer(group))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, group: PostGroup) -> None:
        try:
            stored = await self._store(group)
        except (StaleTarget, NoPartition, RowsRefused):  # nothing was stored; the ordinary way knows what to do
            for post in group.posts:
                post.hand_back()
        except Unavailable as error:
            for post in group.posts:
                post.fail(error)
        except Exception:  # an unforeseen error must not leave callers without an answer: logged with its traceback, and a 500
            log.exception("single posts failed", deployment=group.plan.target.id, posts=len(group.posts))
            for post in group.posts:
                post.fail(None)
        else:
            _accepted.inc(len(stored))
            group.succeed(stored)

    async def _store(self, group: PostGroup) -> Sequence[Post]:
        """Returns the posts whose records are stored now, after the durable commit; the others were handed back.

        Raises:
            StaleTarget, NoPartition, RowsRefused: nothing was stored.
            Unavailable: nothing was stored, or it is unknown.
        """
        plan, fast = group.plan, group.plan.fast
        moments = StatedTimes(self._clock(), historical=False)
        checked = fast.read_posts([post.body for post in group.posts], moments) if fast else None
        if fast is not None and checked is None:
            _keep(group, [post for post in group.posts if fast.read_posts([post.body], moments) is not None])
            checked = fast.read_posts([post.body for post in group.posts], moments) if group.posts else None
        if checked is None:
            _keep(group, ())
            return ()
        erased = find_erased(checked.ids, plan.target)
        if erased:
            _keep(group, [post for position, post in enumerate(group.posts) if position not in erased])
            return await self._store(group) if group.posts else ()
        ids = with_fresh_ids(checked.ids, moments.now)
        numbers = await self._numbers.take(len(ids))
        checked.source = group.source
        outcome = await self._commits.write(payload_batch(checked, plan, moments, ids=ids, numbers=numbers))
        others = {*outcome.duplicates, *outcome.conflicts}
        if others:
            _keep(group, [post for position, post in enumerate(group.posts) if position not in others])
        return group.posts


def _keep(group: PostGroup, kept: Sequence[Post]) -> None:
    """Hands the posts back that are not among those to keep."""
    chosen = set(map(id, kept))
    others = [post for post in group.posts if id(post) not in chosen]
    group.posts = list(kept)
    for post in others:
        post.hand_back()
