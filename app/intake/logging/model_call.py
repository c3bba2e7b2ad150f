"""One call of a model read as payload records."""

from datetime import datetime

from msgspec import Struct

from ...base.errors import TooLarge
from ...domain.cells import CellRefused, record_id
from ...payloads.codec import Codec
from ...payloads.read_call import read_call
from ...payloads.registry import candidates
from .checked_records import CheckedPayload
from .decode_body import MAX_BODY_BYTES, decompressed, require_decodable
from .ingest_plan import IngestPlan
from .logged_pairs import add_rows
from .named_rows import Refusals

MAX_LINES = 1_000_000
"""A line of CSV is a row, however short it is."""


class CapturedBody(Struct, frozen=True, array_like=True):
    """A body as it was sent; its content type and content encoding may be empty."""

    body: bytes
    content_type: str = ""
    encoding: str = ""

    def read(self, most_bytes: int = MAX_BODY_BYTES) -> bytes:
        """Body without its content encoding."""
        return decompressed(self.body, self.encoding.strip().lower(), most_bytes)


class Exchange(Struct, frozen=True, kw_only=True):
    call_id: str
    scored_at: datetime
    request: CapturedBody
    answer: CapturedBody


def require_bounded(body: bytes) -> None:
    """Refuses a body that trying its formats would decode into many times its size."""
    require_decodable(body)
    if body.count(b"\n") > MAX_LINES:
        raise TooLarge(f"The body holds more than {MAX_LINES:,} lines. Send fewer records at once.")


def ids_of_call(call_id: str, rows: int) -> list[str]:
    """That of the call for a single record, `{id}-1`, `{id}-2`, … for several."""
    return [call_id] if rows == 1 else [f"{call_id}-{n}" for n in range(1, rows + 1)]


def read_exchange(
    exchange: Exchange, plan: IngestPlan, codec: Codec | None, most_bytes: int = MAX_BODY_BYTES
) -> CheckedPayload:
    """Records of a call. `codec` is the endpoint's; callers of a server may use another format of it.

    Raises:
        InvalidInput: the request is in no format that has the schema's features.
        UnsupportedMediaType, TooLarge: a body cannot be decompressed, or is too large.
        ScoringFailed: the answer has no usable prediction for each record.
    """
    request, answer = exchange.request.read(most_bytes), exchange.answer.read(most_bytes)
    require_bounded(request)
    require_bounded(answer)
    codecs = candidates(codec, is_csv="csv" in exchange.request.content_type.lower())
    logged = read_call(request, answer, codecs, plan.call_columns).table
    rows, refusals = len(logged), Refusals()
    ids = ids_of_call(exchange.call_id, rows)
    for index, row_id in enumerate(ids):
        try:
            record_id(row_id)
        except CellRefused as error:
            refusals.add(index, "id", str(error))
    checked = CheckedPayload(sent=rows)
    add_rows(checked, logged, plan, ids, exchange.scored_at, refusals)
    return checked
