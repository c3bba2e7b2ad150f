"""The story, top to bottom: register a model, say what is fair, log what it decides, have it checked.

Everything goes through the REST API, as it would from your own programs.
"""

import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.clock import HOUR, hour_of
from app.errors import SetupError
from app.example.applicants import BAD, FEATURES, GOOD
from app.example.client import Evenhand, ModelClient, Stopped
from app.example.model import DECISION, training_data
from app.example.model_server import OUTPUTS
from app.example.telling import Steps
from app.example.traffic import Label, hour_of_visits, payload_records

DEPLOYMENT_ID = "credit-risk"
DEPLOYMENT = {
    "id": DEPLOYMENT_ID,
    "name": "Credit risk",
    "problem_type": "binary",
    "features": [{"name": name, "type": kind} for name, kind in FEATURES.items()],
    "outputs": OUTPUTS,
}
MONITOR = {
    "favourable": [GOOD],
    "unfavourable": [BAD],
    "attributes": [
        {"feature": "sex", "monitored": ["female"], "reference": ["male"], "threshold": 0.8, "upper_threshold": 1.25},
        {"feature": "age", "monitored": [[18, 25]], "reference": [[26, 75]], "threshold": 0.8, "upper_threshold": 1.25},
    ],
    "intersections": [["sex", "age"]],
    "min_records": 500,
}
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Scene:
    """Everybody the story needs."""

    evenhand: Evenhand
    model: ModelClient
    model_url: str
    steps: Steps
    stop: threading.Event


def register(scene: Scene) -> None:
    """The model is known to Evenhand, and what is to be watched. What a user has changed since the last run stays."""
    http, address = scene.evenhand.http, scene.evenhand.address
    endpoint = {"url": scene.model_url}
    stored = http.find(address)
    if stored is None:
        http.ask("POST", "/v1/deployments", {**DEPLOYMENT, "endpoint": endpoint})
    elif (stored["endpoint"] or {}).get("url") != scene.model_url:
        http.ask("PATCH", address, {"endpoint": endpoint})
    if http.find(f"{address}/fairness-monitor") is None:
        http.ask("PUT", f"{address}/fairness-monitor", MONITOR)
    if http.find(f"{address}/training-data") is None:
        http.ask("PUT", f"{address}/training-data", training_data().to_csv(index=False), label=DECISION)
    scene.steps.done(f"Registered [bold]{DEPLOYMENT_ID}[/], with a monitor of sex, age and both together, and its training data")


def catch_up(scene: Scene, hours: int, now: datetime) -> list[Label]:
    """Logs the traffic of those of the last `hours` whole hours that were not checked yet, and has each hour checked.

    Gives the labels that are not known yet. Whatever a run that was cut short has logged already is recognised by its ids.
    """
    missing = _hours_to_check(scene, hours, now)
    if not missing:
        scene.steps.done("The hours before this one are logged and checked already")
        return []
    pending = _log_history(scene, missing, now)
    _check_history(scene, missing)
    return pending


def check_now(scene: Scene) -> dict[str, Any]:
    """The ended check, with its measurements, of the present hour up to now."""
    with scene.steps.bar("Checking the present hour"):
        check = _ended(scene, scene.evenhand.http.ask("POST", f"{scene.evenhand.address}/checks"))
    if check["state"] != "succeeded":
        raise SetupError(f"The check {check['id']} ended as {check['state']}: {check['reason']}")
    window = check["window"]
    scene.steps.done(f"Checked the present hour: {window['records']} records, topped up with {window['additional_records']} earlier ones")
    return check


def _hours_to_check(scene: Scene, hours: int, now: datetime) -> list[datetime]:
    """The starts of the hours that no check has seen a record of, or is about to, oldest first."""
    checks = scene.evenhand.http.ask("GET", f"{scene.evenhand.address}/checks", limit="1000")["checks"]
    seen = {datetime.fromisoformat(check["from"]) for check in checks if _sees_records(check)}
    return [hour for hour in (hour_of(now) - ago * HOUR for ago in range(hours, 0, -1)) if hour not in seen]


def _sees_records(check: dict[str, Any]) -> bool:
    """Whether it is a check of a past hour in which something was logged; hours of silence get checks by the schedule, too."""
    if check["state"] in {"queued", "running"}:
        return bool(check["trigger"] == "range")  # left by a run that was cut short: its records are there
    return check["trigger"] != "request" and bool((check["window"] or {}).get("logged_in_span"))


def _log_history(scene: Scene, hours: list[datetime], now: datetime) -> list[Label]:
    records, labels, pending = 0, 0, list[Label]()
    with scene.steps.bar("Scoring applicants and logging them, hour by hour", total=len(hours)) as advance:
        for hour in hours:
            visits, later = hour_of_visits(hour)
            known = [label for label in later if label.known_at <= now]
            scene.evenhand.import_payload(payload_records(visits, scene.model))
            scene.evenhand.import_feedback([label.record() for label in known])
            pending += [label for label in later if label.known_at > now]
            records, labels = records + len(visits), labels + len(known)
            advance()
    scene.steps.done(f"Logged {_hours(hours)} of traffic: {records:,} scored applicants, {labels:,} labels")
    return pending


def _check_history(scene: Scene, hours: list[datetime]) -> None:
    address, too_few = f"{scene.evenhand.address}/checks", 0
    with scene.steps.bar("Checking hour by hour", total=len(hours)) as advance:
        spans = [{"from": hour.isoformat(), "to": (hour + HOUR).isoformat()} for hour in hours]
        for check in [scene.evenhand.http.ask("POST", address, span) for span in spans]:
            ended = _ended(scene, check)
            if ended["state"] == "failed":
                raise SetupError(f"The check of the hour {ended['from']} failed: {ended['reason']}")
            too_few += ended["state"] == "insufficient_data"
            advance()
    remark = f"; for the first {too_few} there were too few records yet" if too_few else ""
    scene.steps.done(f"Checked {_hours(hours)}{remark}")


def _hours(hours: list[datetime]) -> str:
    return f"{len(hours)} hour{'s' if len(hours) > 1 else ''}"


def _ended(scene: Scene, check: dict[str, Any]) -> dict[str, Any]:
    """The check with its results, once it has ended."""
    while check["state"] in {"queued", "running"} or "measurements" not in check:
        check = scene.evenhand.http.ask("GET", f"{scene.evenhand.address}/checks/{check['id']}")
        if check["state"] in {"queued", "running"} and scene.stop.wait(POLL_SECONDS):
            raise Stopped
    return check
