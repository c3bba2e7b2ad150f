"""One run of the example."""

import contextlib
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.console import Console

from ..clock import utc_now
from .applicants import applicants
from .client import Evenhand, Http, ModelClient, Stopped
from .results import results_table
from .story import DEPLOYMENT_ID, Scene, catch_up, check_now, measurements_of, register
from .stream import Stream
from .telling import Steps

TURN_SECONDS = 0.2


class Performance:
    def __init__(self, console: Console, stop: threading.Event, *, service_url: str, model_url: str, log: Path) -> None:
        self._console = console
        self._stop = stop
        self._service_url = service_url
        self._model_url = model_url
        self._log = log

    def run(self, keys: queue.SimpleQueue[str], hours: int, *, once: bool) -> None:
        """Starts when there is a key; with `once` it ends after the results. Raises Unavailable."""
        steps = Steps(self._console)
        with steps.bar("Starting the database, the service, a worker and the model"):
            key = None
            while key is None:
                if self._stop.is_set():
                    raise Stopped
                with contextlib.suppress(queue.Empty):
                    key = keys.get(timeout=TURN_SECONDS)
            service = Http(self._service_url, self._stop, headers={"Authorization": f"Bearer {key}"})
            model = ModelClient(Http(self._model_url, self._stop))
            scene = Scene(Evenhand(service, DEPLOYMENT_ID), model, f"{self._model_url}/score", steps, self._stop)
            scene.evenhand.http.ask("GET", "/health/ready")
            scene.model.score(applicants(1, np.random.default_rng()))
        steps.done("Started the database, the service, a worker and the model")
        register(scene)
        stream = Stream(scene.evenhand, scene.model)
        with ThreadPoolExecutor(max_workers=1) as pool:
            streaming = pool.submit(stream.run, self._stop)
            try:
                steps.done("Began a live stream of applicants, scored and logged one by one")
                stream.expect(catch_up(scene, hours, utc_now()))
                check = check_now(scene)
                self._console.print("", results_table(check, measurements_of(scene, check)), "", sep="\n")
                self._print_addresses(key)
                if not once:
                    with self._console.status("") as status:
                        while not (streaming.done() or self._stop.wait(TURN_SECONDS)):
                            live = f"Live: {stream.logged:,} applicants scored and logged, {stream.labelled:,} labels came later."
                            status.update(f"{live} Every ended hour is checked. Ctrl-C stops everything.")
            finally:
                self._stop.set()
        with contextlib.suppress(Stopped):
            # Raises the stream's error.
            streaming.result()

    def _print_addresses(self, key: str) -> None:
        series = "metric=disparate_impact&data=balanced&attribute=sex&scope=group&rollup=day"
        address = f"{self._service_url}/v1/deployments/{DEPLOYMENT_ID}/measurements?{series}"
        for line in (
            f"Pages                      {self._service_url}/  (log in with the key)",
            f"Key of this run            {key}",
            f"API and its documentation  {self._service_url}/docs",
            f"Model                      {self._model_url}/score",
            f"Log                        {self._log}",
            "A series, day by day:",
            f"  curl -s -H 'Authorization: Bearer {key}' '{address}'",
        ):
            self._console.print(line, soft_wrap=True, markup=False)
