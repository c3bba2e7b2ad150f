"""An S3 on this machine (moto), and lakes that are copied to it."""

import os
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pyarrow import fs

from app.batch import stores
from app.batch.engines import Engine, LocalEngine
from app.checks.sources import TablePlaces
from app.domain.definitions import definition_of
from app.store.deployments.deployments import Deployments
from app.store.deployments.monitors import put_monitor
from tests.builders.lakes import Lake
from tests.scenes import PlainSealer, Scene

BUCKET = "bank"

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
    "AWS_EC2_METADATA_DISABLED": "true",
}

GIVEN_URL = "EVENHAND_TEST_S3_URL"
"""Variable for an address that a cluster's executors know already, as `scripts/spark` has told them."""


@dataclass(frozen=True)
class S3:
    """A running server with the bucket `bank`, which the variables of this process name."""

    url: str
    files: fs.FileSystem

    def put(self, folder: Path, prefix: str) -> str:
        """Copies the folder to that place in the bucket; returns its address."""
        fs.copy_files(str(folder), f"{BUCKET}/{prefix}", destination_filesystem=self.files)
        return f"s3://{BUCKET}/{prefix}"

    def refuse(self, *, after: float) -> None:
        """Lets as many requests pass, and answers all others that these keys are unknown; infinity: none is refused."""
        asked = urllib.request.Request(f"{self.url}/moto-api/reset-auth", f"{after}".encode(), {"Content-Type": "text/plain"})  # noqa: S310
        with urllib.request.urlopen(asked):  # noqa: S310
            pass

    def copied(self, lake: Lake, answers: Path, engine: Engine | None = None, *, deployment_id: str = "in-store") -> Scene:
        """A deployment of the same content and monitor, whose files are copies of those of the lake."""
        address = self.put(lake.folder, deployment_id)
        known = definition_of(lake.stage.deployment)
        assert known.payload is not None
        assert known.feedback is not None
        payload = replace(known.payload, location=f"{address}/payload")
        feedback = replace(known.feedback, location=f"{address}/feedback")
        with lake.stage.database.transaction() as session:
            definition = replace(known, payload=payload, feedback=feedback)
            deployment, _ = Deployments(session, PlainSealer()).create(deployment_id, definition)
            put_monitor(session, deployment.no, lake.stage.monitor())
        places = TablePlaces((f"s3://{BUCKET}",), answers, engine or LocalEngine())
        return Scene(lake.stage.database, deployment, places=places)


@contextmanager
def s3() -> Iterator[S3]:
    """A new server, with variables of this process that name it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from moto.server import ThreadedMotoServer  # noqa: PLC0415 - it takes a second, and what it imports warns

    given = os.environ.get(GIVEN_URL)
    server = ThreadedMotoServer("127.0.0.1", int(given.rpartition(":")[2]) if given else 0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    before = dict(os.environ)
    os.environ.update(CREDENTIALS | {"AWS_ENDPOINT_URL": url})
    stores._open_store.cache_clear()  # noqa: SLF001 - a process keeps its variables otherwise
    try:
        files = fs.S3FileSystem(endpoint_override=url, allow_bucket_creation=True)
        files.create_dir(BUCKET)
        yield S3(url, files)
    finally:
        os.environ.clear()
        os.environ.update(before)
        stores._open_store.cache_clear()  # noqa: SLF001
        server.stop()
