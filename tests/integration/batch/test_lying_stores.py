"""Object stores that lie: whatever they answer, a listing ends in time, in a process of its own, and says why in words."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.base.apart import ChildWork
from app.base.errors import InvalidInput
from app.database.engine import Database
from app.database.tables import ListedFileRow
from app.domain.deployment import PayloadTable
from app.sources.tables import allowed_locations as locations
from app.sources.tables.allowed_locations import list_files
from app.sources.tables.table_files import ALL_FILES, TableFiles
from app.worker.looks import look_for_late_files
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.lakes import lake_of
from tests.builders.stores import variables
from tests.scenes import NOON, scene

FOLDER = "s3://bank/allowed/x"
SECONDS = 2


def page(*keys: str, size: int | str = 100, next_page: str = "") -> bytes:
    contents = "".join(
        f"<Contents><Key>{key}</Key><LastModified>2026-07-01T00:00:00.000Z</LastModified><Size>{size}</Size></Contents>" for key in keys
    )
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{next_page}</NextContinuationToken>" if next_page else ""
    return f"<ListBucketResult><KeyCount>{len(keys)}</KeyCount>{more}{contents}</ListBucketResult>".encode()


FILE = page("allowed/x/a.parquet")

BOMB = b'<!DOCTYPE a [<!ENTITY a0 "xxxxxxxxxx">%s]><ListBucketResult><Contents><Key>&a9;</Key></Contents></ListBucketResult>' % b"".join(
    b'<!ENTITY a%d "%s">' % (no, b"&a%d;" % (no - 1) * 10) for no in range(1, 10)
)


class LyingStore:
    """Answers each request for a listing, or for a file, in the way that it is given."""

    def __init__(self, lie: str) -> None:
        self.lie = lie
        self.requests = 0
        self.is_over = threading.Event()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.requests += 1
        match self.lie:
            case "endless-body":
                self._send(request, b"x" * 100_000, length=1 << 40, repeats=1 << 20)
            case "dripping-body":
                self._send(request, b" ", length=1 << 40, repeats=1 << 20, pause=0.1)
            case "half-body":
                self._send(request, FILE[:50], length=len(FILE))
            case "endless-headers":
                request.wfile.write(b"HTTP/1.1 200 OK\r\n")
                self._repeat(request, b"x: " + b"a" * 8000 + b"\r\n", 1 << 20)
            case "endless-header":
                request.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
                self._repeat(request, b"a" * 8000, 1 << 20)
            case "same-page":
                self._send(request, page("allowed/x/a.parquet", next_page="same"))
            case "new-pages":
                keys = [f"allowed/x/{self.requests:09}-{no}.parquet" for no in range(1000)]
                self._send(request, page(*keys, next_page=f"{self.requests}"))
            case "long-error":
                self._send(request, b"<Error><Code>Bad</Code><Message>\x1b]0;" + b"m" * 5_000_000 + b"</Message></Error>", status=403)
            case "other-folder":
                self._send(request, page("elsewhere/b.parquet"))
            case "up":
                self._send(request, page("allowed/x/../../b.parquet"))
            case "control":
                self._send(request, page("allowed/x/&#27;b.parquet"))
            case "deep":
                self._send(request, b"<a>" * 1_000_000)
            case "bomb":
                self._send(request, BOMB)
            case "wrong-file" if "list-type" not in request.path:
                self._send(request, b"PAR1" + b"x" * 88 + (2**31 - 1).to_bytes(4, "little") + b"PAR1", status=206)
            case _:
                self._send(request, FILE)

    def _send(
        self,
        request: BaseHTTPRequestHandler,
        body: bytes,
        *,
        status: int = 200,
        length: int | None = None,
        repeats: int = 1,
        pause: float = 0,
    ) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body) if length is None else length))
        request.send_header("Content-Range", "bytes 0-99/100")
        request.end_headers()
        self._repeat(request, body, repeats, pause)
        request.close_connection = length is not None

    def _repeat(self, request: BaseHTTPRequestHandler, chunk: bytes, repeats: int, pause: float = 0) -> None:
        for _ in range(repeats):
            request.wfile.write(chunk)
            if self.is_over.wait(pause):
                break


@contextmanager
def lying(lie: str) -> Iterator[None]:
    store = LyingStore(lie)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with suppress(OSError):
                store.answer(self)

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()

        def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as above
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    named = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "s3cret-key", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    named |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}", "AWS_EC2_METADATA_DISABLED": "true"}
    try:
        with variables(named | {"EVENHAND_UPLOAD_MEMORY_BYTES": str(2**28)}):
            ChildWork(int).result()  # the first one takes seconds
            yield
    finally:
        store.is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


IN_TIME = f"cannot be listed in {SECONDS} seconds"

LISTINGS = {
    "endless-body": "cannot be listed",  # of memory, or of time
    "dripping-body": IN_TIME,
    "same-page": IN_TIME,
    "new-pages": IN_TIME,
    "long-error": r"cannot be listed: .*\\x1b\]0;mmm",
    "other-folder": "cannot be listed: .*not a subpath",
    "control": r"has a file whose name must not hold control characters: \\x1bb\.parquet",
    "deep": "cannot be listed: .*DEPTH",
    "bomb": "cannot be listed: .*&a9;",
}
MARKS = dict.fromkeys(("other-folder", "endless-body", "same-page"), pytest.mark.thorough)
"""One of each kind is tried more often than every night."""


@pytest.mark.parametrize("lie", [pytest.param(lie, marks=MARKS.get(lie, pytest.mark.nightly)) for lie in LISTINGS])
def test_whatever_a_store_lists_the_listing_ends_and_says_why(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locations, "MAX_LISTING_SECONDS", SECONDS)
    with lying(lie), pytest.raises(InvalidInput, match=LISTINGS[lie]) as refused:
        list_files(PayloadTable(location=FOLDER), [FOLDER], "payload")

    assert len(str(refused.value)) < 600
    assert multiprocessing.active_children() == []


@pytest.mark.nightly  # Arrow repeats these requests, with pauses
@pytest.mark.parametrize("lie", ["half-body", "endless-headers", "endless-header"])
def test_answers_that_are_no_http_are_repeated_and_then_said(lie: str) -> None:
    with lying(lie), pytest.raises(InvalidInput, match=r"cannot be listed: .*NETWORK_CONNECTION"):
        list_files(PayloadTable(location=FOLDER), [FOLDER], "payload")


@pytest.mark.thorough
def test_names_that_lead_out_of_the_folder_are_not_listed() -> None:
    with lying("up"):
        assert list_files(PayloadTable(location=FOLDER), [FOLDER], "payload") == []


@pytest.mark.thorough
def test_a_file_that_is_not_what_its_listing_says_is_refused() -> None:
    with lying("wrong-file"), pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        TableFiles(PayloadTable(location=FOLDER), [FOLDER], "payload", ALL_FILES)


def test_a_table_that_cannot_be_stored_does_not_keep_others_from_being_listed(database: Database, tmp_path: Path) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    lakes = [lake_of(stage, tmp_path / name, deployment_id=name) for name in ("first", "second")]
    bad, good = [lake.write(applicants(9, 9), NOON) for lake in lakes]
    bad.rename(bad.with_name(os.fsdecode(b"\xff.parquet")))

    look_for_late_files(database, (tmp_path,))

    with database.transaction() as session:
        assert session.scalars(select(ListedFileRow.path)).all() == [good.name]
