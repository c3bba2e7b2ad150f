"""One run of the example: the story, the live stream beside it, and where to look."""

import contextlib
import queue
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.console import Console

from app.clock import utc_now
from app.example.applicants import applicants
from app.example.client import Evenhand, Http, ModelClient, Stopped
from app.example.results import results_table
from app.example.story import DEPLOYMENT_ID, Scene, catch_up, check_now, register
from app.example.stream import Stream
from app.example.telling import Steps

TURN_SECONDS = 0.2


class Performance:
    """Tells the story to a console until `stop` is set. The processes it speaks of are somebody else's business."""

    def __init__(self, console: Console, stop: threading.Event, *, service_url: str, model_url: str, log: Path) -> None:
        self._console = console
        self._stop = stop
        self._service_url = service_url
        self._model_url = model_url
        self._log = log

    def run(self, keys: queue.SimpleQueue[str], hours: int, *, once: bool) -> None:
        """Begins when a key for the service is there; with `once` it ends behind the results.

        Raises:
            Stopped: `stop` was set before the results were shown.
            SetupError, Unavailable: the service or the model refused something, or did not answer.
        """
        steps = Steps(self._console)
        with steps.bar("Starting the database, the service, a worker and the model"):
            key = self._next(keys)
            scene = self._scene(key, steps)
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
                self._console.print("", results_table(check_now(scene)), "", sep="\n")
                self._say_where_to_look(key)
                if not once:
                    self._watch(stream, streaming)
            finally:
                self._stop.set()
        with contextlib.suppress(Stopped):
            streaming.result()

    def _next(self, keys: queue.SimpleQueue[str]) -> str:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Empty):
                return keys.get(timeout=TURN_SECONDS)
        raise Stopped

    def _scene(self, key: str, steps: Steps) -> Scene:
        service = Http(self._service_url, self._stop, headers={"Authorization": f"Bearer {key}"})
        model = ModelClient(Http(self._model_url, self._stop))
        return Scene(Evenhand(service, DEPLOYMENT_ID), model, f"{self._model_url}/score", steps, self._stop)

    def _say_where_to_look(self, key: str) -> None:
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

    def _watch(self, stream: Stream, streaming: Future[None]) -> None:
        """Shows how the stream goes on until it or the example is over."""
        with self._console.status("") as status:
            while not (streaming.done() or self._stop.wait(TURN_SECONDS)):
                live = f"Live: {stream.logged:,} applicants scored and logged, {stream.labelled:,} labels came later."
                status.update(f"{live} Every ended hour is checked. Ctrl-C stops everything.")
