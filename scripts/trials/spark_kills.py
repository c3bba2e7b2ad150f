"""Kills executors at random moments while they ask the model about copies, and compares with a run that nobody disturbs.

Each round is a check of its own deployment on the same records. Printed are the rows that the model was asked about. The exit status says
whether all figures were equal and no more was asked again than was under way. The model answers over HTTP, or is a real MLflow model that
the executors load.
"""

import argparse
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from app.calls.egress_policy import EgressPolicy
from app.checks.window.window import TablePlaces
from app.domain.deployment import Endpoint, EndpointSource
from app.sources.tables.engines import open_engine
from scripts.benchmarks.staging import own_database
from scripts.trials.spark_processes import executors
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.models.mlflow_stub import save_rule_model
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import NOON, Result, Scene, scene

PAGE, CONCURRENCY = 20, 2
ANSWER_SECONDS = 0.1


class SlowScorer(RuleScorer):
    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        time.sleep(ANSWER_SECONDS)
        return super().predict(columns, rows)


def kill_one(asked: Callable[[], int], after: int, killed: list[int]) -> None:
    while asked() < after:
        time.sleep(0.01)
    found = executors()
    if found:
        victim = random.choice(found)  # noqa: S311 - no secret
        victim.kill()
        killed.append(victim.pid)


def figures(result: Result) -> dict[tuple[Any, ...], Any]:
    return {(m.metric, m.data, m.scope, m.comparison, m.group): (m.value, m.lower, m.upper, m.n, m.reason) for m in result.measurements}


def count_rows(file: Path) -> int:
    """Returns the sum of the numbers that a loaded model has written into the file so far."""
    return sum(int(line) for line in file.read_text("ascii").splitlines()) if file.exists() else 0


def run_rounds(rounds: int, stage: Scene, folder: Path, asked: Callable[[], int]) -> bool:
    engine = open_engine("spark", os.environ["EVENHAND_TEST_SPARK_URL"])
    everything_holds, expected, needed = True, dict[tuple[Any, ...], Any](), 0
    for no in range(rounds + 1):
        lake = lake_of(stage, folder / str(no), deployment_id=f"round-{no}")
        lake.write(applicants(150, 150, 40), NOON)
        lake.stage.policy = stage.policy
        lake.stage.places = TablePlaces((lake.folder,), engine=engine)
        before, killed = asked(), list[int]()
        if no:
            after = before + random.randrange(needed)  # noqa: S311 - no secret
            threading.Thread(target=kill_one, args=(asked, after, killed), daemon=True).start()
        found = figures(lake.check(NOON))
        now = asked() - before
        if not no:
            expected, needed = found, now
            print(f"undisturbed: {now} rows asked", flush=True)
            continue
        # Of a killed executor one call of its share of connections is under way, and each connection carries one page.
        under_way = len(killed) * PAGE * CONCURRENCY
        everything_holds &= found == expected and needed <= now <= needed + under_way
        words = "figures equal" if found == expected else "FIGURES DIFFER"
        print(
            f"round {no}: killed {len(killed)}, {now} rows asked, {now - needed} again (under way: at most {under_way}), {words}",
            flush=True,
        )
    return everything_holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=20)
    parser.add_argument("--mlflow", action="store_true", help="the executors load the model, and are killed with it")
    wanted = parser.parse_args()
    if "EVENHAND_TEST_SPARK_URL" not in os.environ:
        # It starts this program again, next to a cluster.
        os.execl(Path(__file__).with_name("spark"), "spark", "kills", *sys.argv[1:])  # noqa: S606 - our own program
    with own_database() as (database, folder), serve(SlowScorer()) as server:
        endpoint = Endpoint(url=server.url, page_size=PAGE, concurrency=CONCURRENCY)
        asked: Callable[[], int] = lambda: server.counts.rows  # noqa: E731 - one of two
        if wanted.mlflow:
            model, rows = folder / "models" / "rule", folder / "asked"
            save_rule_model(model, asked=rows, seconds=ANSWER_SECONDS)
            endpoint = Endpoint(
                source=EndpointSource.MLFLOW, uri=str(model), payload_format="mlflow", page_size=PAGE, concurrency=CONCURRENCY
            )
            asked = lambda: count_rows(rows)  # noqa: E731 - as above
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=endpoint)
        stage.policy = EgressPolicy(model_prefixes=(str(folder / "models"),)) if wanted.mlflow else stage.policy
        everything_holds = run_rounds(wanted.rounds, stage, folder, asked)
    return 0 if everything_holds else 1


if __name__ == "__main__":
    sys.exit(main())
