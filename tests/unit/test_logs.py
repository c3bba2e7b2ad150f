"""What must never stand in a log."""

import json
import subprocess
import sys

import pytest

from app.base.errors import InvalidInput
from app.base.telemetry.json_logs import configure_logging
from app.base.telemetry.mask_secrets import mask_secrets, remove_secrets

KEY = "evk_abcdefgh_" + "s" * 43

LOG_THREE_LINES = f"""
import logging, structlog
from app.base.telemetry.json_logs import configure_logging
configure_logging("info")
structlog.contextvars.bind_contextvars(request_id="r1")
structlog.get_logger().info("asked", key={KEY!r}, headers={{"Authorization": "Bearer {KEY}"}})
logging.getLogger("library").warning("connecting to %s", "postgresql://user:hunter2@host/db")
try:
    raise ValueError({KEY!r})
except ValueError:
    structlog.get_logger().exception("failed")
"""


@pytest.mark.parametrize("name", ["password", "POSTGRES_PASSWORD", "secret_key", "Authorization", "api_key", "credentials", "access_token"])
def test_a_value_is_masked_by_its_name_at_any_depth(name: str) -> None:
    event = mask_secrets(None, "", {"endpoint": [{name: "hunter2"}], name: {"user": "hunter2"}})

    assert "hunter2" not in str(event)


def test_counts_keep_their_value_whatever_their_name() -> None:
    assert mask_secrets(None, "", {"tokens": 3}) == {"tokens": 3}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"the key {KEY} is gone", "the key evk_abcdefgh_*** is gone"),
        ("postgresql://user:hunter2@host/db", "postgresql://user:***@host/db"),
        ("Authorization: Basic dXNlcjpodW50ZXIy", "Authorization: Basic ***"),
        ("signed with whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "signed with whsec_***"),
        ("https://a.blob.core.windows.net/c?se=2030&sig=aB%2Bc%3D&sp=r 403", "https://a.blob.core.windows.net/c?se=2030&sig=***&sp=r 403"),
        ("http://127.0.0.1:8000/docs", "http://127.0.0.1:8000/docs"),
    ],
)
def test_a_secret_is_known_by_its_looks(text: str, kept: str) -> None:
    assert remove_secrets(text) == kept


def test_an_object_that_prints_a_secret_is_masked() -> None:
    assert mask_secrets(None, "", {"error": ValueError(KEY)}) == {"error": "evk_abcdefgh_***"}


def test_every_line_is_json_with_the_request_id_and_no_secret() -> None:
    logged = subprocess.run([sys.executable, "-c", LOG_THREE_LINES], capture_output=True, text=True, check=True).stderr

    lines = [json.loads(line) for line in logged.splitlines()]
    assert [line["event"].split()[0] for line in lines] == ["asked", "connecting", "failed"]
    assert {line["request_id"] for line in lines} == {"r1"}
    assert "hunter2" not in logged
    assert "sss" not in logged


def test_an_unknown_level_names_the_variable() -> None:
    with pytest.raises(InvalidInput, match="EVENHAND_LOG_LEVEL"):
        configure_logging("loud")


def test_a_token_in_the_address_of_a_spark_is_masked() -> None:
    said = "No Spark can be used at EVENHAND_SPARK_URL (sc://spark:15002/;token=s3cr3t-t0ken;user_id=eve): no answer"

    assert remove_secrets(said) == said.replace("s3cr3t-t0ken", "***")


def test_a_flood_of_bad_requests_is_no_flood_of_the_log() -> None:
    code = """
import logging
from app.base.telemetry.json_logs import configure_logging
configure_logging("info")
configure_logging("info")
logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
logging.getLogger("uvicorn.error").error("Exception in ASGI application")
"""
    ended = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=True)

    assert [json.loads(line)["event"] for line in ended.stderr.splitlines()] == ["Exception in ASGI application"]
