"""A check as REST v1 answers it, with all of its figures and count tables."""

from typing import Any

import httpx


def read_results(client: httpx.Client, address: str) -> dict[str, Any]:
    """Returns the check of an address with its members `measurements` and `tables`."""
    check: dict[str, Any] = client.get(address).raise_for_status().json()
    tables = client.get(f"{address}/tables").raise_for_status().json()["tables"]
    return check | {"measurements": read_measurements(client, address), "tables": tables}


def read_measurements(client: httpx.Client, address: str, **filters: str) -> list[dict[str, Any]]:
    """Returns the measurements of the check of an address."""
    measurements: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = client.get(f"{address}/measurements", params={"limit": "1000"} | filters | cursor).raise_for_status().json()
        measurements += page["measurements"]
        if page["next_cursor"] is None:
            return measurements
        cursor = {"cursor": page["next_cursor"]}
