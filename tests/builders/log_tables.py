"""Rows as tables of Delta and Iceberg, written by the libraries of these."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.builders.lakes import TIMES
from tests.scenes import NOON


def as_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """The applicants with what a lake has of them, scored at noon."""
    columns = {name: [row.get(name) for row in rows] for name in ("id", "sex", "income", "age", "prediction", "probability")}
    columns["probability"] = pa.array(columns["probability"], pa.float64())
    return pa.table(columns | {"scored_at": pa.array([NOON] * len(rows), TIMES), "revision": ["1"] * len(rows)})


@contextmanager
def iceberg(folder: Path, *parts: Sequence[dict[str, Any]], location: str | None = None, **properties: str) -> Iterator[Any]:
    """Yields an Iceberg table in that folder, or at the location, to which these rows were appended; its catalog is open in the block."""
    from pyiceberg.catalog.sql import SqlCatalog  # noqa: PLC0415 - what it warns of fails a collection

    folder.parent.mkdir(parents=True, exist_ok=True)
    address = {"uri": f"sqlite:///{folder.parent}/{folder.name}.db", "warehouse": f"file://{folder.parent}"}
    # Python 3.13 warns of a database that nobody closes, in whichever test runs when it is collected.
    with closing(SqlCatalog("test", **address, **properties)) as catalog:
        catalog.create_namespace("lake")
        table = catalog.create_table("lake.scores", as_table(parts[0]).schema, location=location or str(folder))
        for rows in parts:
            table.append(as_table(rows))
        yield table
