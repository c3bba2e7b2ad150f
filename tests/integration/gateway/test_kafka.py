"""`evenhand consume` against the mock cluster of librdkafka, which speaks Kafka's protocol over sockets."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from app.cli.consume import run_consumer
from app.errors import Unavailable
from app.gateway import consuming, delivery
from app.gateway.entries import Entry
from app.gateway.storing import CallStore
from app.security.secrets import KEY_FILE
from app.settings import Settings
from tests.integration.gateway.scene import V2_ANSWER, V2_REQUEST, GatewayScene
from tests.progress import wait_until
from tests.service import SECRET

kafka = pytest.importorskip("confluent_kafka", reason="the extra `kafka` is not installed")

TOPIC = "calls"


class Cluster:
    """A mock cluster with one broker, inside a producer."""

    def __init__(self) -> None:
        self.producer = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "127.0.0.1:1"})
        brokers = self.producer.list_topics().brokers.values()
        self.address = ",".join(f"{one.host}:{one.port}" for one in brokers)

    def send(self, body: object, **message: Any) -> None:  # noqa: ANN401 - those of the library
        self.producer.produce(TOPIC, value=json.dumps(body).encode(), **message)
        self.producer.flush()

    def consumer(self) -> Any:  # noqa: ANN401 - the library's
        return kafka.Consumer(
            {"bootstrap.servers": self.address, "group.id": "evenhand", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )

    def committed(self) -> int:
        """The sum of the offsets that are committed."""
        client = self.consumer()
        partitions = client.list_topics(TOPIC).topics[TOPIC].partitions
        found = client.committed([kafka.TopicPartition(TOPIC, number) for number in partitions])
        client.close()
        return sum(max(one.offset, 0) for one in found)


@contextmanager
def consuming_from(cluster: Cluster, scene: GatewayScene, folder: Path) -> Iterator[None]:
    """Runs the consumer in a thread, until the block ends."""
    (folder / KEY_FILE).write_text(SECRET)
    stop, client = threading.Event(), cluster.consumer()
    client.subscribe([TOPIC])
    work = run_consumer(client, Settings(data_dir=folder), scene.service.database.url, "loans", stop)
    thread = threading.Thread(target=asyncio.run, args=(work,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        client.close()


@pytest.mark.nightly
def test_halves_of_mlserver_seldon_and_cloudevents_become_records_and_are_committed(scene: GatewayScene, tmp_path: Path) -> None:
    cluster = Cluster()
    for call, (request, answer) in {
        "mlserver": ({}, {}),
        "seldon": ({"type": "io.seldon.serving.inference.request"}, {"type": "io.seldon.serving.inference.response"}),
        "knative": ({"ce_type": "org.kubeflow.serving.inference.request"}, {"ce_type": "org.kubeflow.serving.inference.response"}),
    }.items():
        ids = {"mlserver": {"mlserver-model": "loans"}, "seldon": {"requestid": call}, "knative": {"ce_id": call}}[call]
        cluster.send(V2_REQUEST, key=call, headers=list((request | ids).items()))
        cluster.send(V2_ANSWER, key=call, headers=list((answer | ids).items()))

    with consuming_from(cluster, scene, tmp_path):
        assert scene.await_records(3).keys() == {"mlserver", "seldon", "knative"}
        wait_until(lambda: cluster.committed() == 6, "all offsets are committed")


@pytest.mark.nightly
def test_offsets_are_committed_after_the_records_are_durable_and_not_before(scene: GatewayScene, tmp_path: Path) -> None:
    cluster, tries, seen, store = Cluster(), [], [], CallStore.store

    async def stored_late(self: CallStore, entries: Sequence[Entry]) -> None:
        seen.append(await asyncio.to_thread(cluster.committed))
        tries.append(len(entries))
        if len(tries) < 3:
            raise Unavailable("The database does not answer.")
        await store(self, entries)
        seen.append(await asyncio.to_thread(cluster.committed))

    cluster.send(V2_REQUEST, key="a")
    cluster.send(V2_ANSWER, key="a")
    with (
        patch.object(CallStore, "store", stored_late),
        patch.object(consuming, "RETRY_SECONDS", 0.01),
        consuming_from(cluster, scene, tmp_path),
    ):
        wait_until(lambda: cluster.committed() == 2, "the offsets are committed")

    assert set(seen[:4]) == {0}
    assert scene.await_records(1).keys() == {"a"}


@pytest.mark.nightly
def test_messages_that_are_read_again_are_stored_once(scene: GatewayScene, tmp_path: Path) -> None:
    cluster = Cluster()
    for body in (V2_REQUEST, V2_ANSWER, V2_REQUEST, V2_ANSWER):
        cluster.send(body, key="a")
    cluster.send({"neither": 1}, key="b")
    with patch.object(delivery, "SWEEP_SECONDS", 0.05), consuming_from(cluster, scene, tmp_path):
        wait_until(lambda: cluster.committed() == 5, "the offsets are committed")

    assert scene.await_records(1).keys() == {"a"}
    assert {one["outcome"] for one in scene.await_counts(2)} >= {"stored", "ignored"}
