"""Small files that unpack to much: each is refused, in a process that is gone afterwards."""

import gzip
import multiprocessing
from http.client import HTTPConnection

import httpx
import pyarrow as pa
import pytest

from app.intake.imports import routes as imports
from scripts.trials.uploads import CSV, HEADER, IMPORTS, PARQUET, RIGHT, ROW, TRAINING, Kind, kinds, write_parquet
from tests.builders.bodies import deployment
from tests.progress import wait_until
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/doors"
MEGABYTES, LENGTH = 24, 400_000


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    features = [{"name": "age", "type": "integer"}, {"name": "sex", "type": "string"}]
    service.client.post("/v1/deployments", json=deployment(id="doors", features=features, meta=[])).raise_for_status()
    return service.client


def send(client: httpx.Client, kind: Kind) -> httpx.Response:
    body = kind.make(LENGTH if kind.is_of_length else MEGABYTES)
    headers = {"Content-Type": kind.media_type, "Content-Encoding": kind.encoding}
    return client.request("PUT" if kind.address == TRAINING else "POST", f"{DEPLOYMENT}/{kind.address}", content=body, headers=headers)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind, id=f"{kind.name} to {kind.address.partition('?')[0]}", marks=[] if kind.media_type == PARQUET else pytest.mark.thorough
        )
        for kind in kinds()
    ],
)
def test_a_hostile_file_is_refused_and_nothing_stays(client: httpx.Client, kind: Kind) -> None:
    answer = send(client, kind)

    assert answer.status_code in RIGHT, answer.text
    assert multiprocessing.active_children() == []


@pytest.mark.thorough
@pytest.mark.usefixtures("little_memory")
def test_a_file_that_takes_more_memory_than_allowed_is_refused_and_the_next_one_read(client: httpx.Client) -> None:
    headers = {"Content-Type": PARQUET}
    body = write_parquet(1, sex=pa.array(["a" * 2**27]))
    zeros = gzip.compress(b" " * (60 * 2**20))

    packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    refused = [
        client.post(f"{DEPLOYMENT}/{IMPORTS}", content=body, headers=headers),
        client.put(f"{DEPLOYMENT}/{TRAINING}", content=body, headers=headers),
        client.post(f"{DEPLOYMENT}/payload-records", content=zeros, headers=packed),
    ]
    read = client.post(f"{DEPLOYMENT}/{IMPORTS}", content=HEADER + ROW, headers={"Content-Type": CSV})

    assert [answer.status_code for answer in refused] == [413] * 3
    assert all("64 MiB of EVENHAND_UPLOAD_MEMORY_BYTES" in answer.json()["detail"] for answer in refused)
    assert read.status_code == 200


@pytest.mark.thorough
def test_an_import_of_too_many_rows_is_refused_in_each_form(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MAX_IMPORT_ROWS", 3)
    line = b'{"features":{"age":1,"sex":"male"},"prediction":1,"scored_at":"2026-11-20T10:00:00Z"}\n'

    def send_rows(rows: int) -> list[httpx.Response]:
        bodies = {CSV: HEADER + ROW.removeprefix(b"r") * rows, "application/jsonlines": line * rows, PARQUET: write_parquet(1, rows)}
        return [client.post(f"{DEPLOYMENT}/{IMPORTS}", content=body, headers={"Content-Type": kind}) for kind, body in bodies.items()]

    assert [answer.status_code for answer in send_rows(3)] == [200] * 3
    assert [(answer.status_code, "more than 3 rows" in answer.json()["detail"]) for answer in send_rows(4)] == [(413, True)] * 3


def test_an_upload_whose_client_has_left_ends_and_frees_its_place(service: RunningService, client: httpx.Client) -> None:
    body, headers = write_parquet(100_000, 9), {"Content-Type": PARQUET, "Authorization": client.headers["Authorization"]}
    for _ in range(3):
        leaving = HTTPConnection(service.base_url.removeprefix("http://"))
        leaving.request("POST", f"{DEPLOYMENT}/{IMPORTS}", body, headers)
        wait_until(multiprocessing.active_children, "a process reads the upload")
        leaving.close()
        wait_until(lambda: not multiprocessing.active_children(), "the process has ended")

    assert client.post(f"{DEPLOYMENT}/{IMPORTS}", content=HEADER + ROW, headers={"Content-Type": CSV}).status_code == 200


def test_a_record_of_csv_that_never_ends_is_refused_at_its_limit(client: httpx.Client) -> None:
    body = HEADER + b'q,2026-11-20T10:00:00Z,3,"male,1\n' + ROW * 300_000

    answer = client.post(f"{DEPLOYMENT}/{IMPORTS}", content=body, headers={"Content-Type": CSV})

    assert answer.status_code == 422
    (problem,) = answer.json()["errors"]
    assert problem["message"] == "is in a record of more than 8 MiB. Is a quote missing before it?"


@pytest.mark.thorough
def test_a_large_body_of_records_is_read_and_a_larger_one_refused(client: httpx.Client) -> None:
    record = b'{"features":{"age":1,"sex":"%s"},"prediction":1}' % (b"m" * 500)
    large = b'{"records":[' + b",".join([record] * 9_000) + b"]}"
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    stored = client.post(f"{DEPLOYMENT}/payload-records", content=gzip.compress(large), headers=headers)
    refused = client.post(f"{DEPLOYMENT}/payload-records", content=gzip.compress(large * 14), headers=headers)

    assert len(large) > 2**22
    assert (stored.status_code, stored.json().get("accepted")) == (200, 9_000)
    assert refused.status_code == 413
    assert "64 MiB (after decompression)" in refused.json()["detail"]
