"""Files of the pages are sent compressed; answers with data of a caller never are."""

import gzip
import re
from dataclasses import dataclass

import httpx

from tests.service import RunningService


@dataclass
class Sent:
    """An answer as it came over the wire, its body not decoded."""

    headers: httpx.Headers
    body: bytes

    @property
    def encoding(self) -> str | None:
        return self.headers.get("content-encoding")


def sent(service: RunningService, path: str, accepted: str) -> Sent:
    headers = {"Accept-Encoding": accepted, "Accept": "text/html", "Authorization": f"Bearer {service.admin_key}"}
    with httpx.stream("GET", f"{service.base_url}{path}", headers=headers) as answer:
        answer.raise_for_status()
        return Sent(answer.headers, b"".join(answer.iter_raw()))


def files(service: RunningService) -> list[str]:
    """Addresses of styles, scripts and pictures."""
    page = service.client.get("/", headers={"Accept": "text/html"}).text
    return [*re.findall(r'(?:src|href)="(/assets/[^"]+)"', page), "/help/evidence.svg"]


def test_files_are_compressed_for_those_who_read_gzip_and_say_so_to_caches(service: RunningService) -> None:
    for path in files(service):
        plain, packed = sent(service, path, "identity"), sent(service, path, "deflate, GZip;q=0.8, br")

        assert (plain.encoding, packed.encoding) == (None, "gzip")
        assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
        assert gzip.decompress(packed.body) == plain.body
        assert int(packed.headers["content-length"]) == len(packed.body)


def test_a_caller_who_does_not_read_gzip_gets_the_file_as_it_is(service: RunningService) -> None:
    path = files(service)[0]

    assert [sent(service, path, accepted).encoding for accepted in ("", "br", "gzip;q=0", "gzip; q=0.00", "gzipped")] == [None] * 5


def test_answers_with_data_of_a_caller_are_never_compressed(service: RunningService) -> None:
    paths = ("/", "/settings", "/v1/overview", "/openapi.json", "/v1/metrics", "/docs", "/docs/checks", "/help")

    assert [sent(service, path, "gzip").encoding for path in paths] == [None] * len(paths)
