import pytest
from starlette.datastructures import Headers

from app.base.errors import InvalidInput
from app.base.settings import Settings, load_settings
from app.web.middleware import find_client_address, name_client

TRUSTED_TYPES = Settings(trusted_proxies="10.0.0.0/8, fd00::1").trusted_networks


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["1.2.3.4, 203.0.113.7, 10.0.0.2"], "203.0.113.7"),  # what stands before was made up
        ("10.0.0.1", ["1.2.3.4", "203.0.113.7"], "203.0.113.7"),
        ("fd00::1", ["2001:db8::7"], "2001:db8::7"),
        ("::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["6.6.6.6, nonsense, 10.0.0.2"], "10.0.0.2"),
        ("::ffff:10.0.0.1", ["203.0.113.7:5123"], "203.0.113.7"),  # some proxies add the port
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("", ["203.0.113.7"], ""),
        ("203.0.113.9", ["1.2.3.4"], "203.0.113.9"),
    ],
)
def test_only_what_trusted_proxies_wrote_is_believed(peer: str, forwarded: list[str], address: str) -> None:
    headers = Headers(raw=[(b"x-forwarded-for", line.encode()) for line in forwarded])

    assert find_client_address(peer, headers, TRUSTED_TYPES) == address
    assert find_client_address(peer, headers, ()) == peer


def test_a_proxy_that_is_no_address_is_refused_by_the_name_of_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_TRUSTED_PROXIES", "10.0.0.1, proxy.internal")

    with pytest.raises(InvalidInput, match=r"EVENHAND_TRUSTED_PROXIES.*proxy\.internal"):
        load_settings()


def test_clients_are_told_apart_by_address_or_by_their_block_of_ipv6() -> None:
    assert name_client("203.0.113.7") == "203.0.113.7"
    assert name_client("::ffff:203.0.113.7") == "203.0.113.7"
    assert name_client("2001:db8::7") == name_client("2001:db8::8") != name_client("2001:db8:0:1::7")
    assert name_client("") == ""
