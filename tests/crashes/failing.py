"""A model that is down, slow, or answers nonsense, through the HTTP API: what a stranger reads, what is stored, what comes next."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.builders.check_results import read_results
from tests.crashes.checking import create, deployment, monitor
from tests.crashes.clients import applicant
from tests.crashes.model import ModelProcess, model_process
from tests.crashes.report import Report
from tests.crashes.service import Service, folder
from tests.crashes.truth import look_at_checks
from tests.models.faulty import Fault
from tests.progress import wait_until

RECORDS = 30
TIMEOUT_SECONDS = 0.6


@dataclass(frozen=True)
class Trouble:
    """One way for a model to fail, and what the reason of a check without its answers must say beside the endpoint's host."""

    name: str
    begin: Callable[[ModelProcess], None]
    words: tuple[str, ...]


TROUBLES = (
    Trouble("down", ModelProcess.kill, ("could not be reached", "Connection refused", "4 attempts")),
    Trouble("slow", lambda model: model.slow(4 * TIMEOUT_SECONDS), ("did not answer within 0.6 seconds", "time-out")),
    Trouble("500", lambda model: model.behave(Fault.STATUS_500), ("answered 500 Internal Server Error", "the model is not well")),
    Trouble("wrong-length", lambda model: model.behave(Fault.WRONG_LENGTH), ("9 rows for a page of 10",)),
    Trouble("wrong-types", lambda model: model.behave(Fault.WRONG_TYPES), ("an object as the prediction of row 10",)),
)


@dataclass
class Case:
    """A deployment with a model in trouble."""

    trouble: Trouble
    model: ModelProcess
    http: httpx.Client
    stack: ExitStack

    @property
    def path(self) -> str:
        """Its checks."""
        return f"/v1/deployments/{self.trouble.name}/checks"

    def ask(self) -> str:
        """The id of a new check."""
        return str(self.http.post(self.path).raise_for_status().json()["id"])

    def ended(self, check_id: str) -> dict[str, Any]:
        """The check with its results once it has ended."""
        address = f"{self.path}/{check_id}"

        def is_over() -> bool:
            return self.http.get(address).raise_for_status().json()["state"] not in ("queued", "running")

        wait_until(is_over, f"the check of {self.trouble.name} has ended")
        return read_results(self.http, address)

    def mend(self) -> None:
        """The model is well again; the one that was down on the same port."""
        if self.trouble.name == "down":
            self.stack.enter_context(model_process(self.model.port))
        else:
            self.model.behave()


@contextmanager
def cases(service: Service) -> Iterator[list[Case]]:
    """A deployment with logged records for every trouble, its model in it already."""
    chance = random.Random(3)
    with ExitStack() as stack:
        headers = {"Authorization": f"Bearer {service.new_key()}"}
        http = stack.enter_context(httpx.Client(base_url=service.base_url, headers=headers))
        made = []
        for trouble in TROUBLES:
            model = stack.enter_context(model_process())
            create(http, deployment(trouble.name, model.url, page_size=10, timeout_seconds=TIMEOUT_SECONDS), monitor())
            records = [applicant(chance) for _ in range(RECORDS)]
            http.post(f"/v1/deployments/{trouble.name}/payload-records", json={"records": records}).raise_for_status()
            trouble.begin(model)
            made.append(Case(trouble, model, http, stack))
        yield made


def models_fail() -> Report:
    """The story: one check of each, then the models recover, then another check of each."""
    report = Report("F. models that fail, through the HTTP API")
    with folder() as home:
        service = Service(home, environment={"EVENHAND_WORKER_CONCURRENCY": str(len(TROUBLES))})
        try:
            service.start()
            with cases(service) as made, service.connect() as connection:
                asked = [case.ask() for case in made]
                for case, check_id in zip(made, asked, strict=True):
                    _tell_failure(report, case, case.ended(check_id))
                truth = look_at_checks(connection)
                report.add("half-written checks / stored answers", f"{len(truth.half_written)} / {truth.counterfactuals}")
                report.violations += [
                    *truth.half_written,
                    *(["answers of checks without the model are stored"] if truth.counterfactuals else []),
                ]
                for case in made:
                    case.mend()
                again = [case.ask() for case in made]
                for case, check_id in zip(made, again, strict=True):
                    _tell_recovery(report, case, case.ended(check_id))
                report.violations += look_at_checks(connection).half_written
        finally:
            service.end()
    return report


def _tell_failure(report: Report, case: Case, check: dict[str, Any]) -> None:
    name, reason = case.trouble.name, check["reason"] or ""
    report.add(name, f"{check['state']}: {reason}")
    if (check["state"], check["cause"]) != ("succeeded", "scoring_failed"):
        report.violations.append(f"{name}: the check ended {check['state']}, {check['cause']}")
    for word in (f"127.0.0.1:{case.model.port}", *case.trouble.words):
        if word not in reason:
            report.violations.append(f"{name}: the reason does not say {word!r}: {reason}")
    data = {figure["data"] for figure in check["measurements"] if figure["value"] is not None}
    if data != {"as_logged"}:
        report.violations.append(f"{name}: the check without the model has figures of {sorted(data)}")


def _tell_recovery(report: Report, case: Case, check: dict[str, Any]) -> None:
    report.add(f"{case.trouble.name}, mended", f"{check['state']} with {len(check['measurements'])} measurements")
    if check["state"] != "succeeded" or not check["measurements"] or not check["tables"]:
        report.violations.append(f"{case.trouble.name}: after the model recovered the check ended {check['state']}: {check['reason']}")
