"""Monitors that the OpenScale SDK enables from a configuration archive."""

import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from recording import BROKEN, ZERO, Walk

CONFIGURATION = {"common_configuration": {"problem_type": "binary", "enable_fairness": True, "enable_quality": True}}
FAIRNESS: dict[str, Any] = {
    "parameters": {
        "features": [{"feature": "sex", "majority": ["male"], "minority": ["female"], "threshold": 0.8}],
        "favourable_class": [1],
        "unfavourable_class": [0],
        "min_records": 10,
    },
    "thresholds": [{"metric_id": "fairness_value", "type": "lower_limit", "value": 80}],
}


@contextmanager
def written_archive() -> Iterator[str]:
    """Yields the path of an archive of both, which is deleted after the block."""
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as file:
        with tarfile.open(file.name, "w:gz") as archive:
            for name, content in (("common_configuration.json", CONFIGURATION), ("fairness_statistics.json", FAIRNESS)):
                written = json.dumps(content).encode()
                member = tarfile.TarInfo(name)
                member.size = len(written)
                archive.addfile(member, io.BytesIO(written))
        yield file.name


def walk_archive(way: Walk, provider: str, subscription: str) -> None:
    """Enables monitors of a subscription that has none, and deletes it."""
    client = way.client
    with written_archive() as archive:
        found = way.does("monitor_instances.enable_monitors", ZERO, provider, subscription, archive)
    if found is not None and sorted(found) != ["fairness", "quality"]:
        way.found["monitor_instances.enable_monitors"], way.said["monitor_instances.enable_monitors"] = BROKEN, str(found)
    client.subscriptions.delete(subscription, force=True)
