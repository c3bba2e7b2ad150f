import base64
import hashlib
from datetime import UTC, datetime

from app.alerts.channels.webhook import build_webhook_headers, sign_message, write_webhook_body

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the specification's example
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'


def hmac_by_hand(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256 written out as RFC 2104 defines it."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()


def test_the_signature_is_that_of_the_specifications_example() -> None:
    assert sign_message(MESSAGE, 1614265330, BODY, secret=SECRET) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_signature_is_the_hmac_of_id_time_and_body() -> None:
    key = base64.b64decode(SECRET.removeprefix("whsec_"))

    found = sign_message(MESSAGE, 1, BODY, secret=SECRET)

    assert found == "v1," + base64.b64encode(hmac_by_hand(key, MESSAGE.encode() + b".1." + BODY)).decode()


def test_the_headers_name_the_message_twice_and_the_time_in_whole_seconds() -> None:
    headers = dict(build_webhook_headers(MESSAGE, BODY, secret=SECRET, now=datetime(2021, 2, 25, 15, 2, 10, 999_000, tzinfo=UTC)))

    assert headers == {
        "Idempotency-Key": MESSAGE,
        "webhook-id": MESSAGE,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_the_body_does_not_depend_on_the_order_in_which_it_was_stored() -> None:
    assert write_webhook_body({"b": {"d": 1, "c": "ü"}, "a": None}) == write_webhook_body({"a": None, "b": {"c": "ü", "d": 1}})
