"""Object stores on this machine (moto, gcp-storage-emulator, azurite), and lakes that are copied to them."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pyarrow import fs

from app.checks.window.window import TablePlaces
from app.deployments.monitor.queries import put_monitor
from app.deployments.queries import Deployments, build_definition
from app.sources.tables import allowed_locations as locations
from app.sources.tables.table_files import Engine, LocalEngine
from tests.builders.lakes import Lake
from tests.ports import free_port
from tests.scenes import PlainSealer, Scene

BUCKET = "bank"

GIVEN_URL = "EVENHAND_TEST_S3_URL"
"""Variable for an address that a cluster's executors know already, as `scripts/trial spark` has told them."""

AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""That of azurite's only account, known to all."""


@dataclass(frozen=True)
class Store:
    """A running server with the bucket `bank`, the one of that address. The variables of this process name the server."""

    root: str
    url: str

    @property
    def files(self) -> fs.FileSystem:
        """The bucket."""
        return locations.open_folder(self.root)

    def put(self, folder: Path, prefix: str) -> str:
        """Copies the folder to that place in the bucket; returns its address."""
        fs.copy_files(str(folder), prefix, destination_filesystem=self.files)
        return f"{self.root}/{prefix}"

    def copied(self, lake: Lake, answers: Path, engine: Engine | None = None, *, deployment_id: str = "in-store") -> Scene:
        """A deployment of the same content and monitor, whose files are copies of those of the lake."""
        address = self.put(lake.folder, deployment_id)
        definition = build_definition(lake.stage.deployment)
        assert definition.payload is not None
        assert definition.feedback is not None
        payload = replace(definition.payload, location=f"{address}/payload")
        feedback = replace(definition.feedback, location=f"{address}/feedback")
        with lake.stage.database.transaction() as session:
            moved = replace(definition, payload=payload, feedback=feedback)
            deployment, _ = Deployments(session, PlainSealer()).create(deployment_id, moved)
            put_monitor(session, deployment.no, lake.stage.monitor())
        places = TablePlaces((self.root,), answers, engine or LocalEngine())
        return Scene(lake.stage.database, deployment, places=places)


@contextmanager
def s3() -> Iterator[Store]:
    """An S3, by moto."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from moto.server import ThreadedMotoServer  # noqa: PLC0415 - it takes a second, and what it imports warns

    given = os.environ.get(GIVEN_URL)
    server = ThreadedMotoServer("127.0.0.1", int(given.rpartition(":")[2]) if given else 0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
    try:
        with variables(keys | {"AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true", "AWS_EC2_METADATA_DISABLED": "true"}):
            fs.S3FileSystem(endpoint_override=url, allow_bucket_creation=True).create_dir(BUCKET)
            yield Store(f"s3://{BUCKET}", url)
    finally:
        server.stop()


def refuse_keys(store: Store, *, after: float) -> None:
    """Lets the S3 answer as many requests, and say of all others that it does not know their keys; infinity: it knows them."""
    asked = urllib.request.Request(f"{store.url}/moto-api/reset-auth", f"{after}".encode(), {"Content-Type": "text/plain"})  # noqa: S310
    with urllib.request.urlopen(asked):  # noqa: S310
        pass


@contextmanager
def google(folder: Path) -> Iterator[Store]:
    """A Google Cloud Storage, by gcp-storage-emulator; the folder is for the file of an account."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    account = {
        "type": "service_account",
        "client_email": "reader@bank.example",
        "private_key_id": "1",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
    }
    (folder / "account.json").write_text(json.dumps(account))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    # Not in this process: Arrow waits for it without letting another thread of Python work.
    options = ["--host=127.0.0.1", f"--port={port}", "--in-memory", f"--default-bucket={BUCKET}"]
    with (
        _running([str(Path(sys.executable).with_name("gcp-storage-emulator")), "start", *options], port),
        variables({"GOOGLE_APPLICATION_CREDENTIALS": str(folder / "account.json"), "CLOUD_STORAGE_EMULATOR_ENDPOINT": url}),
    ):
        yield Store(f"gs://{BUCKET}", url)


@contextmanager
def azure() -> Iterator[Store]:
    """A Blob Storage of Azure, by azurite; the calling test is skipped where it is not installed."""
    azurite = shutil.which("azurite-blob")
    if azurite is None:
        pytest.skip("azurite is not installed: npm install -g azurite")
    port = free_port()
    options = ["--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    url = f"http://127.0.0.1:{port}/devstoreaccount1"
    named = {"AZURE_STORAGE_ENDPOINT": url, "AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1", "AZURE_STORAGE_ACCOUNT_KEY": AZURITE_KEY}
    with _running([azurite, *options], port), variables(named | {"AZURE_ALLOW_HTTP": "true"}):
        locations.open_folder(f"abfs://{BUCKET}").base_fs.create_dir(BUCKET)
        yield Store(f"abfs://{BUCKET}", url)


@contextmanager
def _running(command: Sequence[str], port: int) -> Iterator[None]:
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            assert server.poll() is None, command
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait()


@contextmanager
def variables(named: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(named)
    locations._open_store.cache_clear()  # noqa: SLF001 - it has been opened with other variables
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        locations._open_store.cache_clear()  # noqa: SLF001 - as above
