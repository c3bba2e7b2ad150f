"""Writes a few payload records by one prepared statement: one round trip to Postgres, where a transaction with two COPYs takes three.

Its parameters are the same lines that COPY would read, so that both ways store the same (ADR 107).
"""

from collections import Counter
from collections.abc import Sequence

from ...domain.arrivals import LogKind
from ..database.rows import array_text
from .arrivals import THIS_HOUR
from .batches import PayloadBatch, StaleTarget
from .link import Link
from .targets import ROW_VERSION

MOST_RECORDS = 64
"""Max records of one statement: from about a hundred on, COPY takes less time of the processors."""

MOST_BYTES = 65_536
"""Max bytes of their lines: larger ones are split and parsed faster by COPY."""

_NAME = b"store_few_records"

_TYPES = {
    "deployment_no": "int",
    "record_no": "bigint",
    "record_id": "text",
    "schema_version": "smallint",
    "model_revision": "text",
    "scored_at": "timestamptz",
    "features": "jsonb",
    "meta": "jsonb",
    "prediction": "jsonb",
    "probability": "jsonb",
    "label": "jsonb",
    "debiased": "jsonb",
    "sample_rate": "float8",
}

RECORD_COLUMNS = tuple(_TYPES)
"""Columns of the lines of a batch; those of historical ones end with `logged_at`, others get the transaction's time."""


def _cell(column: str) -> str:
    place = f"cells[{list(_TYPES).index(column) + 1}]"
    # COPY's escape of a backslash. Lines with other escapes are not written here.
    unescaped = rf"replace({place}, '\\', '\')" if _TYPES[column] in {"text", "jsonb"} else place
    return f"{unescaped}::{_TYPES[column]}"


def _insert(table: str, *columns: str) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(map(_cell, columns))} FROM lines"  # noqa: S608 - our own names


# The deployment's row is locked as `freshness` does it. If it is another version, nothing comes of it and nothing is written.
PREPARATION = rf"""
PREPARE {_NAME.decode()} (int, text, text, text[], int[]) AS
WITH deployment AS MATERIALIZED (
    SELECT no FROM deployments WHERE no = $1 AND {ROW_VERSION}::text = $2 FOR KEY SHARE SKIP LOCKED
),
lines AS MATERIALIZED (
    SELECT cells FROM deployment, string_to_table($3, E'\n') AS line, string_to_array(line, E'\t', '\N') AS cells
),
sources AS MATERIALIZED (SELECT no, source, records FROM deployment, unnest($4, $5) AS s (source, records)),
keys AS ({_insert("payload_keys", "deployment_no", "record_id", "record_no")}),
records AS ({_insert("payload_records", *_TYPES)}),
minutes AS (
    INSERT INTO record_counts (minute, deployment_no, records)
    SELECT date_trunc('minute', now()), no, sum(records) FROM sources GROUP BY no
),
arrived AS (
    INSERT INTO arrivals (deployment_no, hour, source, kind, records)
    SELECT no, {THIS_HOUR}, source, '{LogKind.PAYLOAD}', records FROM sources
)
SELECT no FROM deployment
""".encode()  # noqa: S608 - nothing of it comes from outside


def fit_one_statement(batches: Sequence[PayloadBatch]) -> bool:
    """Returns whether `write_few` can write the batches: few records of one deployment, logged now, without rare characters."""
    first = batches[0]
    records = sum(len(batch.numbers) for batch in batches)
    return (
        records <= MOST_RECORDS
        and sum(len(batch.records) for batch in batches) <= MOST_BYTES
        and not first.historical
        and all((batch.deployment_no, batch.row_version) == (first.deployment_no, first.row_version) for batch in batches)
        and all(_has_simple_escapes(batch.records) for batch in batches)
    )


async def write_few(link: Link, batches: Sequence[PayloadBatch]) -> None:
    """Stores records of which none was stored before, durably. The batches must fit one statement.

    Raises:
        StaleTarget: the batches were checked against another state of their deployment; nothing was written.
        StatementFailed: Postgres refused, because an id is taken for example; nothing was written.
        LinkLost: the connection broke; whether the records are stored is unknown.
    """
    first = batches[0]
    counts = Counter[str]()
    for batch in batches:
        counts[batch.source.value] += len(batch.numbers)
    lines = b"".join([batch.records for batch in batches])
    parameters = [
        str(first.deployment_no).encode(),
        first.row_version.encode(),
        lines[:-1],  # the last line feed would begin another line
        array_text(counts).encode(),
        array_text(counts.values()).encode(),
    ]
    if not await link.execute(_NAME, parameters):
        raise StaleTarget(batches)


def _has_simple_escapes(lines: bytes) -> bool:
    """Returns whether every backslash of the lines is one of a pair, or of a NULL: no tab or line feed is within a cell."""
    # A parameter ends at its first NUL, and what follows would be lost without an error; COPY refuses it.
    if b"\0" in lines:
        return False
    if b"\\\\" in lines:
        lines = lines.replace(b"\\\\", b"")
    return lines.count(b"\\") == lines.count(b"\\N")
