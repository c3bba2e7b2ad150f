"""Compares what a check measures through real model servers: the same model, the same rows, the same check, in every payload format.

Each server runs in an environment of its own, made below the cache folder (about 3 GB for all). Formats of vendors whose servers cannot run
here are spoken by a program in their documented form. The exit status says whether all measurements are equal to the reference at 1e-12.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.base.errors import ScoringFailed
from app.base.values import Range, Scalar
from app.database.engine import Database
from app.deployments.monitor.queries import put_monitor
from app.deployments.queries import Definition, Deployments
from app.domain.deployment import Endpoint, FieldKind, OutputFields
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from scripts.arguments import make_parser
from scripts.benchmarks.staging import define, own_database
from scripts.trials.server_environments import PACKAGES, find_system_python, make_environment
from scripts.trials.server_processes import PROGRAMS, TYPES, Server, Way, documented, real_servers, running
from tests.scenes import NOON, PlainSealer, Scene

TOLERANCE = 1e-12
PAGE = 50

TRAINS = "triton"
"""The environment in which the models are made: the one with the oldest numpy, whose files the others can read."""

CLASSES: dict[str, tuple[Scalar, Scalar]] = {"whole": (0, 1), "mixed": ("no", "yes")}

Figure = tuple[Any, ...]


def main() -> None:
    parser = make_parser(__doc__)
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evenhand-servers"
    parser.add_argument("--cache", type=Path, default=default, help=f"folder of the environments (default: {default})")
    parser.add_argument(
        "--triton-python", default=find_system_python(), help="interpreter for Triton: the system's, whose libpython it loads"
    )
    parser.add_argument("--only", default=",".join(PACKAGES), help="servers, with commas (default: all)")
    options = parser.parse_args()
    wanted = [name for name in PACKAGES if name in options.only.split(",")]
    interpreters = {"triton": options.triton_python}
    pythons = {
        name: make_environment(options.cache / name, PACKAGES[name], interpreters.get(name, sys.executable)) for name in {TRAINS, *wanted}
    }
    with own_database() as (database, folder):
        for name, program in ((TRAINS, "train.py"), ("mlflow", "save_mlflow.py")):
            if name in pythons:
                subprocess.run([pythons[name], program, str(folder)], cwd=PROGRAMS, check=True, stdout=sys.stderr)
        comparison = Comparison(database, folder)
        for server in [*documented(pythons[TRAINS], folder), *real_servers(wanted, pythons, folder)]:
            comparison.try_server(server, folder)
    sys.exit(comparison.report())


class Comparison:
    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._rows = {kind: json.loads((folder / f"{kind}.json").read_text()) for kind in TYPES}
        self._reference: dict[str, list[Figure]] = {}
        self._lines: list[str] = []
        self._faults = 0

    def try_server(self, server: Server, folder: Path) -> None:
        """Checks a deployment of each way; the first of each model is the reference."""
        with running(server, folder):
            for kind, ways in server.ways.items():
                for way in ways:
                    self._try_way(server, kind, way)

    def _try_way(self, server: Server, kind: str, way: Way) -> None:
        endpoint = Endpoint(
            url=f"http://127.0.0.1{server.ready.split('/')[0]}{way.path.format(kind=kind)}",
            payload_format=way.payload_format,
            mapping=way.mapping,
            page_size=PAGE,
            timeout_seconds=60.0,
        )
        outputs = OutputFields(prediction=way.outputs[0], probability=way.outputs[1], classes=CLASSES[kind])
        definition = _define(kind, outputs, endpoint)
        scene = _watch(self._database, definition, deployment_id=f"way-{len(self._lines)}")
        rows = [{**row, "id": f"r{no}"} for no, row in enumerate(self._rows[kind])]
        if way.has_lists:
            # As this server answers them: what is logged and what is rescored have one form.
            rows = [{**row, "probability": [1 - row["probability"], row["probability"]]} for row in rows]
        scene.number_from(1)
        scene.log(rows, NOON)
        name = f"{server.name:<22} {kind:<6} {way.payload_format:<22}"
        try:
            result = scene.check(NOON)
        except ScoringFailed as error:
            scene.stop_running()
            self._note(name, f"FAILED: {error}", is_fault=True)
            return
        found = [
            (figure.metric, figure.data, figure.scope, figure.attribute, figure.group, figure.value, figure.lower, figure.upper, figure.n)
            for figure in result.measurements
        ]
        reference = self._reference.setdefault(kind, found)
        difference = _largest_difference(reference, found)
        counterfactual = sum(one[1] == "counterfactual" and one[5] is not None for one in found)
        words = f"{len(found)} measurements, {counterfactual} of them from rescoring, largest difference {difference:.1e}"
        self._note(name, words, is_fault=difference > TOLERANCE or counterfactual == 0)

    def report(self) -> int:
        print("\n".join(self._lines))
        print("every measurement is the same" if not self._faults else f"{self._faults} differ or failed")
        return 1 if self._faults else 0

    def _note(self, name: str, words: str, *, is_fault: bool) -> None:
        self._faults += is_fault
        self._lines.append(f"{'!' if is_fault else ' '} {name} {words}")
        print(self._lines[-1], file=sys.stderr, flush=True)


def _define(kind: str, outputs: OutputFields, endpoint: Endpoint) -> Definition:
    quantities = {"income", "age"}
    definition = define(TYPES[kind], outputs, endpoint)
    features = (column if column.name in quantities else replace(column, kind=FieldKind.CATEGORICAL) for column in definition.features)
    return replace(definition, features=tuple(features))


def _watch(database: Database, definition: Definition, *, deployment_id: str) -> Scene:
    unfavourable, favourable = definition.outputs.classes or ()
    sexes: tuple[Scalar, Scalar] = ("female", "male") if favourable == "yes" else (1, 0)
    sex = MonitoredAttribute(feature="sex", monitored=(sexes[0],), reference=(sexes[1],))
    age = MonitoredAttribute(feature="age", monitored=(Range(18, 35),), reference=(Range(36, 75),))
    outcomes = OutcomeRule(favourable=(favourable,), unfavourable=(unfavourable,))
    monitor = Monitor(outcomes=outcomes, attributes=(sex, age), min_records=10, max_records=1000)
    with database.transaction() as session:
        deployment, _ = Deployments(session, PlainSealer()).create(deployment_id, definition)
        put_monitor(session, deployment.no, monitor)
    return Scene(database, deployment)


def _largest_difference(reference: list[Figure], found: list[Figure]) -> float:
    """Returns the largest difference of a value, bound or count; infinity if other figures were measured."""
    if [one[:5] for one in reference] != [one[:5] for one in found]:
        return float("inf")
    largest = 0.0
    for left, right in zip(reference, found, strict=True):
        for one, other in zip(left[5:], right[5:], strict=True):
            if (one is None) != (other is None):
                return float("inf")
            if one is not None and one != other:
                largest = max(largest, abs(one - other))
    return largest


if __name__ == "__main__":
    main()
