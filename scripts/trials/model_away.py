"""Times how soon hours that a model missed have their counterfactual figures and evidence once it answers again.

A service and its worker check six past hours while the model answers 503; the model comes back just after an attempt, so that the pause
until the next one counts in full. Everything is on the loopback interface.
"""

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg

from app.base.clock import floor_to_hour
from scripts.arguments import make_parser
from scripts.benchmarks.service import ROOT, Checkout
from scripts.benchmarks.staging import open_client, own_postgres, register
from tests.builders.row_server import RowServer
from tests.models.serving import Reply, running

DEPLOYMENT = "left-alone"
PATH = f"/v1/deployments/{DEPLOYMENT}"
HOURS, RECORDS_AN_HOUR = 6, 300
GOAL_SECONDS = 600

MISSED = "SELECT count(*) FROM checks WHERE failure = 'scoring-failed' AND state = 'succeeded'"
ATTEMPTS = "SELECT count(*) FROM checks WHERE trigger = 'model' AND failure = 'scoring-failed'"
COUNTED = """
    SELECT count(DISTINCT h.hour) FROM evidence_hours h JOIN evidence_figures f USING (era_no, data, attribute)
    WHERE data = '{data}' AND h.hour < f.until AND NOT f.is_stale
"""


class LeavingModel(RowServer):
    is_away = True

    def answer(self, path: str, body: bytes) -> Reply:
        return Reply(503, b"away") if self.is_away else super().answer(path, body)


def approve(row: dict[str, Any]) -> dict[str, Any]:
    return {"prediction": int(row["income"] >= (20 if row["sex"] == "male" else 60))}


def main() -> None:
    make_parser(__doc__).parse_args()
    model = LeavingModel(approve)
    with own_postgres() as (url, folder), running(model):
        checkout = Checkout(ROOT, Path(sys.executable), url, folder)
        checkout.run("migrate")
        key = checkout.run("keys", "create", "--role", "admin").splitlines()[-1]
        with checkout.running("serve"), open_client(checkout.port, key) as client:
            hours = _log(client, model)
            begun = time.monotonic()
            for hour in hours:
                span = {"from": hour.isoformat(), "to": (hour + timedelta(hours=1)).isoformat()}
                client.post(f"{PATH}/checks", json=span).raise_for_status()
            _await(url, MISSED, len(hours))
            _await(url, COUNTED.format(data="as_logged"), len(hours))
            print(f"as logged, model away: {len(hours)} hours after {time.monotonic() - begun:.0f} s", flush=True)
            _await(url, ATTEMPTS, 1)
            model.is_away, begun = False, time.monotonic()
            _await(url, COUNTED.format(data="counterfactual"), len(hours))
            seconds = time.monotonic() - begun
    print(f"counterfactual, model back: {len(hours)} hours after {seconds:.0f} s, at most {GOAL_SECONDS}")
    sys.exit(seconds > GOAL_SECONDS)


def _log(client: httpx.Client, model: LeavingModel) -> list[datetime]:
    endpoint = {"endpoint": {"url": model.url}}
    monitor = {"metrics": ["disparate_impact"], "evidence": {"each_record_another_person": True}}
    register(client, DEPLOYMENT, {"name": "income", "type": "number"}, endpoint, **monitor)
    end = floor_to_hour(datetime.now(UTC))
    past = [end - timedelta(hours=number) for number in range(HOURS, 0, -1)]
    for hour in past:
        rows: list[dict[str, Any]] = [
            {"sex": ("female", "male")[number % 2], "income": (7 * hour.hour + 13 * number) % 100} for number in range(RECORDS_AN_HOUR)
        ]
        logged = [{"features": row, "scored_at": hour.isoformat(), **approve(row)} for row in rows]
        client.post(f"{PATH}/payload-records?historical=true", json={"records": logged}).raise_for_status()
    return past


def _await(url: str, statement: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        while (row := connection.execute(statement).fetchone()) is not None and row[0] < count:
            time.sleep(0.5)


if __name__ == "__main__":
    main()
