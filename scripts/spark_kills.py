"""Kills executors at random moments while they ask the model about copies, and compares with a run that nobody disturbs.

    scripts/spark kills [20]

Each round is a check of its own deployment on the same records. Printed are the rows that the model was asked about: those needed, and
those asked again because the answer was under way when its executor was killed. The exit status says whether all figures were equal and
no more was asked again than was under way.
"""

import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from app.batch.engines import open_engine
from app.checks.sources import TablePlaces
from app.domain.deployments import Endpoint
from app.embedded import embedded_postgres
from app.store.database.engine import Database
from app.store.database.migrate import upgrade
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import NOON, Result, scene

PAGE, CONCURRENCY = 20, 2
ANSWER_SECONDS = 0.1
"""Time that the model takes for a page, so that a kill meets some under way."""


class SlowScorer(RuleScorer):
    """The rule, answered slowly."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """Returns the answers after a while."""
        time.sleep(ANSWER_SECONDS)
        return super().predict(columns, rows)


def executors() -> list[psutil.Process]:
    """The executors of the workers that scripts/spark started."""
    workers = [psutil.Process(int(no)) for no in os.environ["EVENHAND_TEST_SPARK_WORKERS"].split(",")]
    below = [child for worker in workers for child in worker.children(recursive=True)]
    return [one for one in below if is_executor(one)]


def is_executor(process: psutil.Process) -> bool:
    """Whether it is an executor that runs; one that has ended says nothing of itself."""
    try:
        return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
    except psutil.Error:
        return False


def kill_one(rows_before: int, counts: Any, after: int, killed: list[int]) -> None:  # noqa: ANN401 - of the tests' server
    """Kills an executor once the model was asked about so many rows."""
    while counts.rows - rows_before < after:
        time.sleep(0.01)
    found = executors()
    if found:
        victim = random.choice(found)  # noqa: S311 - no secret
        victim.kill()
        killed.append(victim.pid)


def figures(result: Result) -> dict[tuple[Any, ...], Any]:
    """Every figure by its key."""
    return {(m.metric, m.data, m.scope, m.comparison, m.group): (m.value, m.lower, m.upper, m.n, m.reason) for m in result.measurements}


def main() -> int:
    """Prints a line for each round."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    engine = open_engine("spark", os.environ["EVENHAND_TEST_SPARK_URL"])
    everything_holds = True
    with tempfile.TemporaryDirectory() as folder, embedded_postgres(Path(folder) / "postgres") as url, serve(SlowScorer()) as server:
        database = Database(url)
        upgrade(database)
        endpoint = Endpoint(url=server.url, page_size=PAGE, concurrency=CONCURRENCY)
        stage = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=endpoint)
        expected: dict[tuple[Any, ...], Any] = {}
        needed = 0
        for no in range(rounds + 1):
            lake = lake_of(stage, Path(folder) / str(no), deployment_id=f"round-{no}")
            lake.write(applicants(150, 150, 40), NOON)
            lake.stage.places = TablePlaces((lake.folder,), engine=engine)
            before, killed = server.counts.rows, list[int]()
            if no:
                after = random.randrange(needed)  # noqa: S311 - no secret
                threading.Thread(target=kill_one, args=(before, server.counts, after, killed), daemon=True).start()
            found = figures(lake.check(NOON))
            asked = server.counts.rows - before
            if not no:
                expected, needed = found, asked
                print(f"undisturbed: {asked} rows asked")
                continue
            # Of a killed executor one call of its share of connections is under way, and each connection carries one page.
            under_way = len(killed) * PAGE * CONCURRENCY
            holds = found == expected and needed <= asked <= needed + under_way
            everything_holds &= holds
            words = "figures equal" if found == expected else "FIGURES DIFFER"
            print(
                f"round {no}: killed {len(killed)}, {asked} rows asked, {asked - needed} again (under way: at most {under_way}), {words}",
                flush=True,
            )
        database.close()
    return 0 if everything_holds else 1


if __name__ == "__main__":
    sys.exit(main())
