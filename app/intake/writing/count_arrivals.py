"""Statements that count the records of a write by source, in its transaction."""

from collections import Counter
from collections.abc import Sequence

from ...domain.arrival import LogKind
from .write_batches import Batch

_SOURCES = "(sources)"

_THIS_HOUR = "date_trunc('hour', now(), 'UTC')"

# `added` has the stored rows: no duplicates, nor those of an earlier attempt whose commit was not confirmed.
COUNT_ADDED = (
    "INSERT INTO arrivals (deployment_no, hour, source, kind, "  # noqa: S608 - nothing of it comes from outside
    "records) "
    f"SELECT a.deployment_no, {_THIS_HOUR}, s.source, '{{kind}}', count(*) "
    f"FROM added a JOIN {_SOURCES} s (source, no) ON s.no = a.{{number}} GROUP BY 1, 3;"
)
"""Counts the rows of `added`; `kind` and `number` (the column of record numbers) are to be filled in."""


def count_all(batches: Sequence[Batch], kind: LogKind) -> bytes:
    counts = Counter[tuple[int, str]]()
    for batch in batches:
        counts[batch.deployment_no, batch.source.value] += len(batch.numbers)
    values = ",".join(
        f"({no},{_THIS_HOUR},'{source}','{kind.value}',{records})" for (no, source), records in counts.items()
    )
    return f"INSERT INTO arrivals (deployment_no, hour, source, kind, records) VALUES {values};".encode()  # noqa: S608 - our own words


def with_sources(script: bytes, batches: Sequence[Batch]) -> bytes:
    values = ",".join(
        f"('{batch.source.value}','{{{','.join(map(str, batch.numbers))}}}'::bigint[])" for batch in batches
    )
    relation = f"(SELECT b.source, unnest(b.numbers) FROM (VALUES {values}) AS b (source, numbers))"  # noqa: S608 - words and numbers of ours
    return script.replace(_SOURCES.encode(), relation.encode())
