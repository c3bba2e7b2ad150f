"""An endpoint with an authority of its own that asks its callers for a certificate, as rescoring calls it."""

from collections.abc import Iterator

import pytest

from app.base.errors import ScoringFailed
from app.domain.deployment import EndpointTls
from tests.builders.scoring_clients import MAN, client_of
from tests.models.certificates import Authority, behind_mutual_tls
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer

AUTHORITY = Authority()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with behind_mutual_tls(ModelServer(RuleScorer()), AUTHORITY, tmp_path_factory.mktemp("tls")) as server:
        yield server


def url_of(server: ModelServer) -> str:
    return f"https://localhost:{server.server_port}/score"


def test_the_own_authority_is_trusted_and_the_certificate_is_shown(server: ModelServer) -> None:
    client = AUTHORITY.issue("evenhand")
    tls = EndpointTls(authority=AUTHORITY.pem, certificate=client.certificate, key=client.key)

    found = client_of(url_of(server), tls=tls).score([MAN] * 3)

    assert [answer.prediction for answer in found] == [1, 1, 1]
    assert client.key not in repr(tls)


def test_without_the_authority_the_endpoint_is_not_trusted(server: ModelServer) -> None:
    client = AUTHORITY.issue("evenhand")
    tls = EndpointTls(certificate=client.certificate, key=client.key)

    with pytest.raises(ScoringFailed, match=r"not trusted.*endpoint\.tls\.authority"):
        client_of(url_of(server), tls=tls).score([MAN])


@pytest.mark.parametrize("is_shown", [False, True])
def test_no_certificate_or_one_of_another_authority_is_reported_as_that(*, is_shown: bool, server: ModelServer) -> None:
    other = Authority("Another").issue("evenhand")
    tls = EndpointTls(authority=AUTHORITY.pem, **({"certificate": other.certificate, "key": other.key} if is_shown else {}))

    # The server's alert may be lost with the connection; then the certificate is named as a possible cause.
    with pytest.raises(ScoringFailed, match=r"client certificate.*endpoint\.tls") as refused:
        client_of(url_of(server), tls=tls).score([MAN])

    assert "BEGIN" not in str(refused.value)


def test_one_endpoint_never_uses_the_certificate_of_another(server: ModelServer) -> None:
    client = AUTHORITY.issue("evenhand")
    client_of(url_of(server), tls=EndpointTls(authority=AUTHORITY.pem, certificate=client.certificate, key=client.key)).score([MAN])

    with pytest.raises(ScoringFailed, match="client certificate"):
        client_of(url_of(server), tls=EndpointTls(authority=AUTHORITY.pem)).score([MAN])
    with pytest.raises(ScoringFailed, match="not trusted"):
        client_of(url_of(server)).score([MAN])
