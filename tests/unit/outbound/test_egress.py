"""Which addresses may be called."""

import re
from ipaddress import ip_address

import pytest

from app.base.errors import EndpointRefused, SetupError
from app.base.settings import Settings
from app.calls.egress_policy import OPEN, EgressPolicy, check_url


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:5000/score",
        "http://[::1]:5000/score",
        "http://localhost/score",
        "http://10.0.0.5/score",
        "https://192.168.1.2:8443/invocations",
        "http://[fd12:3456::1]/score",
        "https://model.example.com/v1/deployments/7/online?version=2",
        "http://model_server:8080/score",
        "http://8.8.8.8/",
    ],
)
def test_models_on_loopback_in_private_networks_and_outside_may_be_called(url: str) -> None:
    check_url(url, OPEN)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.1.1",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "[fe80::1]",
        "[febf::1]",
        "0.0.0.0",  # noqa: S104 - an address to be refused
        "0.1.2.3",
        "[::]",
        "224.0.0.1",
        "[ff02::1]",
        "255.255.255.255",
        "240.0.0.1",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::ffff:0:169.254.169.254]",
        "[::169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::169.254.169.254]",
        "[2002:a9fe:a9fe::1]",
        "[2001:0:a9fe:a9fe::1]",
        "[2001:0:102:304:0:0:5601:5601]",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "2852039166",
        "0xa9fea9fe",
        "0xa9.0xfe.0xa9.0xfe",
        "0251.0376.0251.0376",
        "169.16689662",
        "127.1",
        "0177.0.0.1",
    ],
)
def test_link_local_metadata_and_senseless_addresses_are_refused_in_every_spelling(host: str) -> None:
    with pytest.raises(EndpointRefused):
        check_url(f"http://{host}/latest/meta-data", OPEN)


@pytest.mark.parametrize("allowlist", [("169.254.169.254",), ("0.0.0.0/0",), ("metadata.google.internal",), ("169.254.0.0/16", "::/0")])
@pytest.mark.parametrize("host", ["169.254.169.254", "metadata.google.internal", "[::ffff:169.254.169.254]"])
def test_no_allow_list_opens_metadata_addresses(host: str, allowlist: tuple[str, ...]) -> None:
    with pytest.raises(EndpointRefused):
        check_url(f"http://{host}/", EgressPolicy.of(allowlist))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "model.example.com",
        "/score",
        "ftp://model.example.com/score",
        "file:///etc/passwd",
        "unix:///run/model.sock",
        "http:///score",
        "http://user:password@model.example.com/",
        "http://user@model.example.com/",
        "http://model.example.com/#part",
        "http://model.example.com:99999999/",
        "http://model example.com/",
        "http://mo\ndel/",
        "http://%31%36%39.254.169.254/",
        "http://../",
    ],
)
def test_a_url_that_is_not_plain_http_to_a_host_is_refused(url: str) -> None:
    with pytest.raises(EndpointRefused):
        check_url(url, OPEN)


@pytest.mark.parametrize(
    ("allowlist", "url", "allowed"),
    [
        (("model.internal",), "http://model.internal/score", True),
        (("model.internal",), "http://MODEL.internal./score", True),
        (("Model.Internal",), "http://model.internal/score", True),
        (("model.internal",), "http://other.model.internal/score", False),
        (("model.internal",), "http://10.0.0.5/score", False),
        (("10.0.0.0/8",), "http://10.200.0.5/score", True),
        (("10.1.2.3/8",), "http://10.200.0.5/score", True),
        (("10.0.0.0/8",), "http://11.0.0.5/score", False),
        (("10.0.0.5",), "http://10.0.0.5:9000/score", True),
        (("10.0.0.5",), "http://[::ffff:10.0.0.5]/score", True),
        (("10.0.0.5",), "http://127.0.0.1/score", False),
        (("fd12::/16",), "http://[fd12::7]/score", True),
        (("model.internal", "127.0.0.1"), "http://127.0.0.1/score", True),
    ],
)
def test_an_allow_list_admits_exact_names_addresses_and_blocks_and_nothing_else(
    allowlist: tuple[str, ...], url: str, *, allowed: bool
) -> None:
    if allowed:
        check_url(url, EgressPolicy.of(allowlist))
        return

    with pytest.raises(EndpointRefused, match="allow-list"):
        check_url(url, EgressPolicy.of(allowlist))


def test_a_name_beside_allowed_networks_is_judged_by_the_address_it_resolves_to() -> None:
    policy = EgressPolicy.of(["10.0.0.0/8"])

    policy.check_host("model.internal")
    policy.check_address("model.internal", ip_address("10.0.0.1"))

    with pytest.raises(EndpointRefused, match="allow-list"):
        policy.check_address("model.internal", ip_address("192.168.0.1"))


def test_an_allowed_name_may_resolve_anywhere_but_to_addresses_never_called() -> None:
    policy = EgressPolicy.of(["model.internal"])

    policy.check_address("model.internal", ip_address("192.168.0.1"))

    with pytest.raises(EndpointRefused, match="metadata"):
        policy.check_address("model.internal", ip_address("169.254.169.254"))


@pytest.mark.parametrize("entry", ["*.example.com", "http://model", "10.0.0.0/99", "model:8080", "a b", "2130706433"])
def test_an_allow_list_entry_of_another_kind_is_refused(entry: str) -> None:
    with pytest.raises(SetupError, match="allow-list entry"):
        EgressPolicy.of([entry])


def test_the_reason_names_the_kind_of_address() -> None:
    with pytest.raises(EndpointRefused, match="link-local address, which is never called"):
        OPEN.check_address("model.internal", ip_address("fe80::1"))


EXPOSED = EgressPolicy.of([], exposed_on="0.0.0.0")  # noqa: S104 - not bound
PRIVATE = ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "[::1]", "[fd12::7]", "[::ffff:10.1.2.3]", "localhost"]


@pytest.mark.parametrize("host", PRIVATE)
def test_where_others_reach_the_service_a_private_host_needs_the_list_and_the_refusal_says_how(host: str) -> None:
    bare = host.strip("[]")
    with pytest.raises(EndpointRefused, match=rf"listens on 0\.0\.0\.0.*EVENHAND_ENDPOINT_ALLOWLIST={re.escape(bare)} "):
        check_url(f"http://{host}:9000/score", EXPOSED)

    check_url(f"http://{host}:9000/score", EgressPolicy.of([host], exposed_on="0.0.0.0"))  # noqa: S104 - as above
    check_url(f"http://{host}:9000/score", OPEN)


def test_a_name_that_resolves_to_a_private_address_needs_the_list_and_a_public_one_does_not() -> None:
    EXPOSED.check_address("model.example.com", ip_address("8.8.8.8"))
    EXPOSED.check_address("model.example.com", ip_address("64:ff9b::808:808"))

    with pytest.raises(EndpointRefused, match=r"model\.example\.com \(10\.0\.0\.5\).*ALLOWLIST=model\.example\.com "):
        EXPOSED.check_address("model.example.com", ip_address("10.0.0.5"))


def test_answers_are_quoted_on_loopback_or_for_hosts_on_the_list() -> None:
    listed = EgressPolicy.of(["model.internal"], exposed_on="0.0.0.0")  # noqa: S104 - as above

    assert (OPEN.shows_answers, EXPOSED.shows_answers, listed.shows_answers) == (True, False, True)


@pytest.mark.parametrize(
    ("host", "exposed"),
    [
        ("127.0.0.1", None),
        ("127.0.0.53", None),
        ("::1", None),
        ("[::1]", None),
        ("localhost", None),
        ("0.0.0.0", "0.0.0.0"),  # noqa: S104 - as above
        ("::", "::"),
        ("10.1.2.3", "10.1.2.3"),
        ("evenhand.internal", "evenhand.internal"),
    ],
)
def test_a_service_is_exposed_unless_it_listens_on_loopback(host: str, exposed: str | None) -> None:
    assert Settings(host=host).exposed_on == exposed
