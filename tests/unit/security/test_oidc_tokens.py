"""Tokens of an issuer: what is accepted, and the attacks that are not."""

import base64
import hmac
import json
from hashlib import sha256
from time import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

from app.access.issuer.issuer import is_of_issuer
from app.access.issuer.verify_token import LEEWAY_SECONDS, UnknownKey, require_access_token, require_id_token, verify_token
from app.base.errors import Unauthenticated
from tests.builders.issuers import make_key, public_jwk, sign

ISSUER, AUDIENCE = "https://login.example.com", "evenhand"
KEYS = [public_jwk("first"), public_jwk("rsa", "RSA")]


def claims(**changes: object) -> dict[str, Any]:
    now = int(time())
    return {"iss": ISSUER, "aud": AUDIENCE, "sub": "0001", "iat": now, "exp": now + 300, **changes}


def verify(token: str, keys: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return verify_token(token, KEYS if keys is None else keys, issuer=ISSUER, audience=AUDIENCE)


def unsigned(header: dict[str, Any], body: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(body).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


@pytest.mark.parametrize(("key", "kind"), [("first", "EC"), ("rsa", "RSA")])
def test_a_token_of_the_issuer_is_accepted_with_each_kind_of_key(key: str, kind: str) -> None:
    assert verify(sign(claims(), key, kind=kind))["sub"] == "0001"
    assert verify(sign(claims(aud=["other", AUDIENCE]), key, kind=kind))["sub"] == "0001"


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": None},
        {"iss": f"{ISSUER}/"},
        {"iss": "https://evil.example"},
        {"exp": int(time()) - LEEWAY_SECONDS - 5},
        {"nbf": int(time()) + 100_000},
        {"iat": int(time()) + 100_000},
        {"exp": "soon"},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 256},
        {"sub": "a\x00b"},
    ],
)
def test_a_claim_that_is_wrong_refuses_the_token(changes: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        verify(jwt_of(claims(**changes)))


def test_what_these_tests_sign_by_hand_is_accepted_where_nothing_is_wrong() -> None:
    assert verify(jwt_of(claims()))["sub"] == "0001"


def jwt_of(body: dict[str, Any]) -> str:
    """A token whose claims PyJWT itself would refuse to write."""
    head = sign(claims()).partition(".")[0]
    content = base64.urlsafe_b64encode(json.dumps(body).encode()).rstrip(b"=").decode()
    signature = jwt.get_algorithm_by_name("ES256").sign(f"{head}.{content}".encode(), make_key("first"))
    return f"{head}.{content}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


@pytest.mark.parametrize("missing", ["iss", "aud", "sub", "exp", "iat"])
def test_a_claim_that_is_missing_refuses_the_token(missing: str) -> None:
    with pytest.raises(Unauthenticated):
        verify(sign({name: value for name, value in claims().items() if name != missing}))


def test_clocks_may_differ_by_a_minute_and_no_more() -> None:
    now = int(time())

    assert verify(sign(claims(exp=now - LEEWAY_SECONDS + 20)))
    assert verify(sign(claims(iat=now + LEEWAY_SECONDS - 20, nbf=now + LEEWAY_SECONDS - 20)))
    with pytest.raises(Unauthenticated, match="expired"):
        verify(sign(claims(exp=now - LEEWAY_SECONDS - 1)))


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS256", "HS512", "RS256 ", None, 7, ["ES256"]])
def test_no_algorithm_without_a_private_key_is_accepted(algorithm: object) -> None:
    public = make_key("rsa", "RSA").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for secret in (public, json.dumps(public_jwk("rsa", "RSA")).encode(), b""):
        body = unsigned({"alg": algorithm, "kid": "rsa", "typ": "JWT"}, claims()).rpartition(".")[0]
        signature = base64.urlsafe_b64encode(hmac.new(secret, body.encode(), sha256).digest()).rstrip(b"=").decode()
        for end in ("", signature):
            with pytest.raises(Unauthenticated):
                verify(f"{body}.{end}")


def test_the_algorithm_must_be_one_of_the_key_that_the_token_names() -> None:
    with pytest.raises(UnknownKey):
        verify(jwt.encode(claims(), make_key("rsa", "RSA"), algorithm="RS256", headers={"kid": "first"}))
    assert verify(jwt.encode(claims(), make_key("rsa", "RSA"), algorithm="PS512", headers={"kid": "rsa"}))
    only_es = [{**public_jwk("rsa", "RSA"), "alg": "PS256"}]
    with pytest.raises(UnknownKey):
        verify(sign(claims(), "rsa", kind="RSA"), only_es)


def test_a_key_that_is_not_known_or_unreadable_or_for_encryption_is_not_used() -> None:
    with pytest.raises(UnknownKey):
        verify(sign(claims(), "another"))
    with pytest.raises(UnknownKey):
        verify(sign(claims()), [{**public_jwk("first"), "use": "enc"}])
    with pytest.raises(UnknownKey):
        verify(sign(claims()), [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}])
    with pytest.raises(UnknownKey):
        verify(sign(claims()), [{"kty": "EC", "crv": "P-256", "kid": "first", "x": 7, "y": "!"}])
    with pytest.raises(Unauthenticated):
        verify(sign(claims(), "another", kid="first"))


def test_a_token_without_the_name_of_a_key_is_accepted_if_there_is_one_key_only() -> None:
    token = jwt.encode(claims(), make_key("first"), algorithm="ES256")

    assert verify(token, [public_jwk("first")])
    with pytest.raises(UnknownKey):
        verify(token, [public_jwk("first"), public_jwk("second")])


def test_short_rsa_keys_tampered_claims_extensions_and_other_texts_are_refused() -> None:
    short = rsa.generate_private_key(65_537, 1024)  # noqa: S505 - to be refused
    written = {**RSAAlgorithm.to_jwk(short.public_key(), as_dict=True), "kid": "short"}
    head, _, signature = sign(claims()).split(".")
    tampered = f"{head}.{unsigned({}, claims(sub='0002')).split('.')[1]}.{signature}"
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        weak = jwt.encode(claims(), short, algorithm="RS256", headers={"kid": "short"})
    for token in (tampered, sign(claims(), crit=["exp"]), "a.b.c", "", "a.b", "ü.ü.ü", f"{head}.{'a' * 20_000}.x"):
        with pytest.raises(Unauthenticated):
            verify(token)
    with pytest.raises(Unauthenticated, match="2048"):
        verify(weak, [written])


@pytest.mark.parametrize(
    "changes",
    [{"nonce": "other"}, {"nonce": None}, {"nonce": 7}, {"azp": "another"}, {"aud": [AUDIENCE, "another"]}],
)
def test_an_id_token_must_be_the_answer_to_our_request(changes: dict[str, Any]) -> None:
    require_id_token(claims(nonce="n"), client_id=AUDIENCE, nonce="n")
    require_id_token(claims(nonce="n", aud=[AUDIENCE, "other"], azp=AUDIENCE), client_id=AUDIENCE, nonce="n")

    with pytest.raises(Unauthenticated):
        require_id_token(claims(nonce="n") | changes, client_id=AUDIENCE, nonce="n")


@pytest.mark.parametrize("changes", [{"typ": "ID"}, {"typ": "Refresh"}, {"events": {}}])
def test_tokens_for_other_purposes_are_no_access_tokens(changes: dict[str, Any]) -> None:
    require_access_token(claims(typ="Bearer"))

    with pytest.raises(Unauthenticated):
        require_access_token(claims(**changes))


def test_our_own_tokens_and_keys_are_not_taken_for_the_issuers() -> None:
    own = jwt.encode(claims(), "k" * 32, algorithm="HS256")

    assert is_of_issuer(sign(claims()))
    assert not is_of_issuer(own)
    assert is_of_issuer(unsigned({"alg": "none"}, claims()))
    assert not any(is_of_issuer(text) for text in ("evk_" + "a" * 52, "a.b", "", "a.b.c"))
