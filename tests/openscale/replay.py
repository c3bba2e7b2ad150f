"""Recorded calls of the SDK, sent again without it."""

from typing import Any

import httpx

from openscale.walk.shapes import ids_of
from tests.progress import wait_until


class Replay:
    """Sends recorded calls with the ids that this service gave instead of those that were recorded."""

    def __init__(self, client: httpx.Client, known: dict[str, str]) -> None:
        self._client = client
        self._known = known

    def send(self, call: dict[str, Any]) -> httpx.Response:
        """The answer to one call; to the question for a run, the one after its end."""
        found: list[httpx.Response] = []

        def is_answered() -> bool:
            headers = {"content-type": call["content_type"]} if call["content_type"] else {}
            body = None if call["body"] is None else self._translated(call["body"])
            found.append(self._client.request(call["method"], self._translated(call["path"]), content=body, headers=headers))
            return '"state":"running"' not in found[-1].text or call["method"] != "GET"

        wait_until(is_answered, "the run is over")
        return found[-1]

    def learn(self, call: dict[str, Any], answer: httpx.Response) -> None:
        """Remembers the ids of an answer under those that were recorded."""
        if call["location"]:
            self._known[call["location"].rpartition("/")[2]] = answer.headers["location"].rpartition("/")[2]
        # The first run of an instance is not posted.
        if call["method"] == "POST" or call["path"].endswith("/runs"):
            own = list(ids_of(answer.json()))
            self._known |= dict(zip(call["ids"], own, strict=False))
            # Ids of instances and data sets hold the subscription's.
            self._known |= {old.partition(".")[2]: new.partition(".")[2] for old, new in zip(call["ids"], own, strict=False) if "." in old}

    def _translated(self, text: str) -> str:
        for old in sorted(self._known, key=len, reverse=True):
            text = text.replace(old, self._known[old])
        return text
