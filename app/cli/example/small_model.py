"""The model of the how-to pages: approves every man, and women with an income of at least RICH."""

from collections.abc import Sequence
from typing import Any

MIN_RICH_INCOME = 50_000
OUTPUTS = ("prediction", "probability")


def answer_request(path: str, request: Any) -> dict[str, Any]:  # noqa: ANN401 - what somebody sent
    if path == "/score":
        return {"fields": list(OUTPUTS), "values": _decide(request["fields"], request["values"])}
    if path == "/invocations":
        table = request["dataframe_split"]
        return {
            "predictions": [
                dict(zip(OUTPUTS, row, strict=True)) for row in _decide(table["columns"], table["data"])
            ]
        }
    raise ValueError(f"only /score and /invocations are served, not {path}")


def _decide(fields: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[int, float]]:
    records = (dict(zip(fields, row, strict=True)) for row in rows)
    return [
        (1, 0.9) if record["sex"] == "male" or (record.get("income") or 0) >= MIN_RICH_INCOME else (0, 0.1)
        for record in records
    ]
