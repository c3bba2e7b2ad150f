"""Posts of one payload record whose head was sent before: the work that is left when the server knows what the head says."""

import itertools
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from msgspec import Struct
from starlette.types import Scope

from ..clock import monotonic_seconds
from ..domain.arrivals import RecordSource
from ..errors import EvenhandError, Unauthenticated
from ..ingest import Ingestion
from ..ingest.plan import IngestPlan
from ..ingest.posts import Post
from ..security.authenticator import Authenticator
from ..security.key_limits import LimitKeeper
from ..security.principals import Permission, Principal
from ..telemetry.metrics import http_requests, http_seconds
from ..web.problems import problem_response, unexpected_response
from ..web.repeats import REPEATABLE, WaitingClient

ONE_ACCEPTED: Final = b'{"sent":1,"accepted":1,"duplicate":0,"rejected":0,"rejections":[],"conflicts":[]}'

_EXCLUDED = frozenset({b"x-request-id", b"expect", b"upgrade", b"transfer-encoding", b"content-encoding"})
"""Headers with which a request is always answered in the ordinary way."""

_PROCESS = os.urandom(8).hex()
_requests = itertools.count()


@dataclass(frozen=True, slots=True)
class SinglePostRoute:
    """Services that all heads of one process share."""

    template: str
    authenticator: Authenticator
    ingestion: Ingestion
    limits: LimitKeeper

    def offer(self, scope: Scope, headers: Mapping[bytes, bytes], deployment_id: str, source: RecordSource) -> None:
        """Lets further posts with this request's head come directly. Call it when the request, of one record, was answered with success."""
        if scope["query_string"] or not _EXCLUDED.isdisjoint(headers):
            return
        try:
            # Of a key: access tokens and sessions are looked up in other ways.
            secret_hash = self.authenticator.hash_of(headers[b"authorization"].decode("latin-1"))
        except (Unauthenticated, KeyError):
            return
        scope[REPEATABLE] = _KnownPost(self, deployment_id, secret_hash, source)

    def succeed(self, posts: Sequence[Post]) -> None:
        """Answers posts whose records are stored."""
        if not posts:
            return
        now, head = monotonic_seconds(), b""
        sizes, counts = Counter[str](), Counter[str]()
        observe = http_seconds.labels(self.template).observe
        for post in posts:
            if not isinstance(post, _Post):
                raise TypeError("these posts came from elsewhere")
            head = head or b"HTTP/1.1 200 OK\r\n%b%bx-request-id: " % (post.sender.head_of_answers(), _FIXED_LINES)
            post.sender.answer(b"%b%b%016x\r\n\r\n%b" % (head, _PROCESS_BYTES, next(_requests), ONE_ACCEPTED))
            sizes[post.actor] += len(post.body)
            counts[post.actor] += 1
            observe(now - post.began)
        _count(self.template, HTTPStatus.OK, len(posts))
        for actor, count in counts.items():
            self.limits.note_stored(actor, sent=count, records=count, size=sizes[actor], requests=count)


class _KnownPost:
    """The content of a head. Key, role and deployment are looked at again for every post, as they may change."""

    __slots__ = ("_deployment_id", "_plan", "_principal", "_route", "_secret_hash", "_source")

    def __init__(self, route: SinglePostRoute, deployment_id: str, secret_hash: bytes, source: RecordSource) -> None:
        self._route = route
        self._deployment_id = deployment_id
        self._secret_hash = secret_hash
        self._source = source
        self._principal: Principal | None = None
        self._plan: IngestPlan | None = None

    def take(self, body: bytes, sender: WaitingClient) -> bool:
        """Returns whether the post will be answered from here: its key was looked up lately, and nothing about it is unusual."""
        route = self._route
        principal = route.authenticator.recall(self._secret_hash)
        plan = route.ingestion.known_plan(self._deployment_id)
        if principal is None or plan is None or route.limits.is_limited(principal.actor):
            return False
        if principal is not self._principal or plan is not self._plan:
            if Permission.LOG not in principal.role.permissions or not principal.sees(plan.target.no):
                return False
            self._principal, self._plan = principal, plan
        post = _Post(body, sender, principal.actor, monotonic_seconds(), route.template)
        return route.ingestion.take_post(post, plan, self._source, route.succeed)


class _Post(Struct, eq=False):
    """One post that waits for its answer."""

    body: bytes
    sender: WaitingClient
    actor: str
    began: float
    template: str

    def hand_back(self) -> None:
        """Has it answered in the ordinary way."""
        self.sender.hand_back()

    def fail(self, error: EvenhandError | None) -> None:
        """Answers with a problem document."""
        request_id = f"{_PROCESS}{next(_requests):016x}"
        response = unexpected_response(request_id) if error is None else problem_response(error, request_id)
        lines = [*response.raw_headers, (b"x-request-id", request_id.encode())]
        status = HTTPStatus(response.status_code)
        head = b"HTTP/1.1 %d %b\r\n%b" % (status, status.phrase.encode(), self.sender.head_of_answers())
        self.sender.answer(head + b"".join(b"%b: %b\r\n" % line for line in lines) + b"\r\n" + bytes(response.body))
        http_seconds.labels(self.template).observe(monotonic_seconds() - self.began)
        _count(self.template, status, 1)


_PROCESS_BYTES = _PROCESS.encode()
_FIXED_LINES = b"content-type: application/json\r\ncontent-length: %d\r\n" % len(ONE_ACCEPTED)


_counters: dict[int, Any] = {}


def _count(template: str, status: int, count: int) -> None:
    counter = _counters.get(status)
    if counter is None:
        counter = _counters[status] = http_requests.labels("POST", template, str(int(status)))
    counter.inc(count)
