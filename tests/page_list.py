"""Every page of the worked example, for the tests of the pages and for screenshots of them."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx

from tests.progress import wait_until

DEPLOYMENT = "/deployments/credit-risk"


def pages(client: httpx.Client) -> Mapping[str, str]:
    """The pages' names and paths at the example that the client asks."""
    api = "/v1/deployments/credit-risk"
    check = _first(client, f"{api}/checks?state=succeeded&limit=1", "checks")["id"]
    record = _first(client, f"{api}/payload-records?limit=1&outcome=unfavourable", "payload_records")["id"]  # the longest badge
    alert = _first(client, "/v1/alerts?limit=1", "alerts")["id"]
    views = {f"check-{view}": f"{DEPLOYMENT}/checks/{check}?view={view}" for view in ("openscale", "as_logged", "training", "mitigated")}
    return {
        "overview": "/",
        "fairness": DEPLOYMENT,
        "fairness-counterfactual-by-day": f"{DEPLOYMENT}/explore?data=counterfactual&range=month&rollup=day",
        "fairness-drawer": f"{DEPLOYMENT}?attribute=sex&group=female",
        "fairness-drawer-of-two": f"{DEPLOYMENT}?{urlencode({'attribute': 'sex × age', 'group': 'female × 18-25'})}",
        "explore": f"{DEPLOYMENT}/explore",
        "checks": f"{DEPLOYMENT}/checks",
        "check-measurements": f"{DEPLOYMENT}/checks/{check}/measurements",
        **views,
        "transactions": f"{DEPLOYMENT}/transactions",
        "transactions-of-check": f"{DEPLOYMENT}/transactions?check={check}",
        "ingestion": f"{DEPLOYMENT}/ingestion",
        "retention": f"{DEPLOYMENT}/retention",
        "reports": f"{DEPLOYMENT}/reports",
        "record": f"{DEPLOYMENT}/transactions/{record}",
        "deployment-alerts": f"{DEPLOYMENT}/alerts",
        "second-look": f"{DEPLOYMENT}/second-look",
        "configure": f"{DEPLOYMENT}/configure",
        "configure-step": f"{DEPLOYMENT}/configure?step=groups",
        **{f"configure-{part}": f"{DEPLOYMENT}/configure/{part}" for part in ("model", "monitor", "training", "mitigation", "log")},
        "register": "/register",
        "alerts": "/alerts",
        "alert": f"/alerts/{alert}",
        "channels": "/alerts/channels",
        "activity": "/activity",
        "audit": "/audit",
        "settings": "/settings",
        "glossary": "/glossary",
        "help": "/help",
        "help-page": "/help/concepts/metrics",
        "help-search": "/help?q=disparate+impact",
        "api": "/docs",
        "api-tag": "/docs/checks",
    }


def _first(client: httpx.Client, path: str, member: str) -> Any:  # noqa: ANN401 - any JSON
    """The first that is listed; alerts are worked out some seconds after the check that they are about."""
    listed: list[Any] = []

    def is_listed() -> bool:
        listed[:] = client.get(path).raise_for_status().json()[member]
        return bool(listed)

    wait_until(is_listed, f"something is listed at {path}")
    return listed[0]
