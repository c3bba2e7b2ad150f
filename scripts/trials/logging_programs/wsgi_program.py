"""A model under WSGI that logs by itself, and has logged before gunicorn forks its workers."""

import json
import os
from collections.abc import Callable
from typing import Any

from evenhand_client import Evenhand

client = Evenhand()
client.log({"place": "before the fork"}, 0, id="before-the-fork")


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    """Predicts 1 for a row, and logs it."""
    if environ["REQUEST_METHOD"] == "GET":
        start_response("200 OK", [("content-type", "application/json")])
        return [json.dumps({"pid": os.getpid()}).encode()]
    row = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))["inputs"][0]
    record_id = client.log(row, 1)
    start_response("200 OK", [("content-type", "application/json"), ("evenhand-id", record_id)])
    return [b'{"predictions":[1]}']
