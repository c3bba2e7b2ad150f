"""Ids of records that came without one."""

import os
from collections.abc import Sequence
from datetime import datetime
from typing import cast


def with_fresh_ids(ids: Sequence[str | None], now: datetime) -> list[str]:
    """Fills in None: 48 bits of time, so that ids fill an index from one side, and 80 random bits."""
    if None not in ids:
        return cast("list[str]", ids)
    prefix = f"{int(now.timestamp() * 1000):012x}"
    return [prefix + os.urandom(10).hex() if record_id is None else record_id for record_id in ids]
