"""The service as an import sees it: REST v1 over HTTP, each request repeated until it is answered."""

import time
from collections.abc import Callable, Mapping
from datetime import date, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from ..base.errors import FieldProblem, InvalidInput, NotFound, SetupError, Unavailable
from ..base.strict_json import JsonObject, parse_json
from ..base.values import frozen
from ..domain.deployment import Endpoint, OutputFields, ProblemType, RecordSchema
from ..domain.record import Receipt
from ..domain.record_times import LogKind, RecordSource
from ..intake.imports.run_import import RejectedRow

TIMEOUT_SECONDS = 60
PAUSE_SECONDS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)

_RETRIED_STATUSES = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
_MAX_PAUSE_SECONDS = 30.0
_MAX_HOURS_OF_BODY = 1000
_MAX_SHOWN_CHARACTERS = 500


@frozen
class ImportTarget:
    """Facts of the deployment that an import needs. `lists_texts`: its favourable outcomes are texts."""

    schema: RecordSchema
    outputs: OutputFields
    lists_texts: bool
    earliest: date | None
    problem_type: ProblemType
    endpoint: Endpoint | None


class ImportService:
    """One deployment of the service, and the kind of its records that are imported."""

    def __init__(self, client: httpx.Client, deployment_id: str, kind: LogKind = LogKind.PAYLOAD) -> None:
        self._client = client
        self._address = f"/v1/deployments/{quote(deployment_id, safe='')}"
        self._id = deployment_id
        self.kind = kind

    @property
    def identity(self) -> str:
        """A stopped import finds its notes by it."""
        return f"{self._client.base_url}{self._address}"

    def read_deployment(self) -> ImportTarget:
        """Raises NotFound if the key does not see it."""
        response = request_until_answered(self._client, "GET", self._address)
        if response.status_code == HTTPStatus.NOT_FOUND:
            raise NotFound("deployment", self._id)
        members = read_content(response)
        [favourable, *_] = _read_members(
            request_until_answered(self._client, "GET", f"{self._address}/fairness-monitor")
        ).get("favourable", [None])
        for column in (*members["features"], *members["meta"]):
            # An import sends values, not groups.
            if column["storage"]:
                column["storage"] |= {"groups": ()}
        endpoint = members["endpoint"]
        if endpoint:
            endpoint = {name: endpoint[name] for name in ("payload_format", "mapping")}
        target = {
            "schema": {"version": 1} | members,
            "lists_texts": isinstance(favourable, str),
            "endpoint": endpoint,
        }
        return msgspec.convert(members | target, ImportTarget)

    def is_registered(self) -> bool:
        return request_until_answered(self._client, "GET", self._address).status_code == HTTPStatus.OK

    def send(self, body: bytes, path: str = "", media_type: str = "application/json") -> Receipt:
        """Sends historical records, or the body of another `path`; returns after the durable commit.

        Raises InvalidInput.
        """
        headers = {"Content-Type": media_type, "Evenhand-Source": RecordSource.IMPORT.value}
        path = f"{self._address}/{path or f'{self.kind.value}-records?historical=true'}"
        response = request_until_answered(self._client, "POST", path, content=body, headers=headers)
        members = _read_members(response)
        # A body whose records are all refused is a problem document, with the receipt in it.
        if "sent" in members:
            receipt_members = {
                "accepted": members.get("corrected", 0),
                "rounded": members.get("rounded_probabilities", 0),
            }
            return msgspec.convert(receipt_members | members, Receipt)
        if response.status_code in (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
            problems = [FieldProblem(error["field"], error["message"]) for error in members.get("errors", ())]
            raise InvalidInput(problems or [FieldProblem("body", _describe_answer(response))])
        raise _build_error(response)

    def note_unread(self, row: RejectedRow) -> None:
        """Does nothing: the report of the command has the row."""

    def put_left_out(self, sender: str, rate: float, hours: Mapping[datetime, int]) -> None:
        entries = [
            {"hour": hour.isoformat(), "not_received": 0, "left_out": count}
            for hour, count in sorted(hours.items())
        ]
        for start in range(0, len(entries), _MAX_HOURS_OF_BODY):
            body = {"sample_rate": rate, "hours": entries[start : start + _MAX_HOURS_OF_BODY]}
            self.ask("PUT", f"/missing-records/{sender}", body)

    def ask(self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - any JSON
        return read_content(
            request_until_answered(self._client, method, self._address + path, json=body, params=query)
        )

    def register(self, body: Mapping[str, Any]) -> None:
        read_content(request_until_answered(self._client, "POST", "/v1/deployments", json=body))


def request_until_answered(
    client: httpx.Client,
    method: str,
    path: str,
    *,
    pause: Callable[[float], None] = time.sleep,
    **options: Any,  # noqa: ANN401 - httpx' own options
) -> httpx.Response:
    """Raises Unavailable after the last attempt, and errors of `pause`."""
    problem = ""
    for seconds in (0.0, *PAUSE_SECONDS):
        pause(seconds)
        try:
            response = client.request(method, path, **options)
        except httpx.TransportError as error:
            problem = f"{type(error).__name__}: {error}".removesuffix(": ")
            continue
        if response.status_code not in _RETRIED_STATUSES:
            return response
        problem = _describe_answer(response)
        retry_after = response.headers.get("Retry-After", "")
        pause(min(float(retry_after), _MAX_PAUSE_SECONDS) if retry_after.isdigit() else 0.0)
    raise Unavailable(
        f"{client.base_url.join(path)} does not answer ({1 + len(PAUSE_SECONDS)} attempts, the last one: "
        f"{problem}). What was sent is stored; run the same command again to continue."
    )


def read_content(response: httpx.Response) -> Any:  # noqa: ANN401 - any JSON
    """Raises SetupError with the message of a refusal."""
    if response.is_error:
        raise _build_error(response)
    return response.json() if response.content else None


def open_client(url: str, key: str) -> httpx.Client:
    if not url.startswith(("http://", "https://")):
        raise SetupError(
            f"The address of the service must begin with http:// or https://, found {url!r:.100}. Set --url "
            "or EVENHAND_URL."
        )
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_SECONDS)


def _read_members(response: httpx.Response) -> JsonObject:
    parsed = parse_json(response.content, None)
    return parsed if isinstance(parsed, dict) else {}


def _describe_answer(response: httpx.Response) -> str:
    members = _read_members(response)
    faults = members.get("errors") or ()
    fault_words = "; ".join(f"{fault.get('field')}: {fault.get('message')}" for fault in faults)
    detail = members.get("detail") or response.text[:_MAX_SHOWN_CHARACTERS]
    words = f"{response.status_code} {detail}"
    return f"{words} ({fault_words[:_MAX_SHOWN_CHARACTERS]})" if fault_words else words


def _build_error(response: httpx.Response) -> SetupError:
    return SetupError(
        f"{response.request.method} {response.request.url.path} was answered {_describe_answer(response)}"
    )
