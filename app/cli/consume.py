"""`evenhand consume`: logs calls that a model server or its logger reports to Kafka."""

import asyncio
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from ..clock import utc_now
from ..errors import InvalidInput, SetupError
from ..gateway.consuming import EventConsumer, KafkaClient
from ..gateway.plans import CallPlans
from ..gateway.storing import CallStore
from ..ingest import Ingestion
from ..outbound.egress import EgressPolicy
from ..security.secrets import open_secret_box
from ..settings import Settings
from ..store.database.engine import Database
from .database import require_answer
from .startup import service_settings, spare_loaded_objects, stop_signal

try:
    import confluent_kafka

    Consumer: Any = confluent_kafka.Consumer
except ImportError:
    Consumer = None

command = typer.Typer(add_completion=False)


@command.command()
def consume(
    deployment: Annotated[str, typer.Option(help="Id of the deployment whose calls are reported.")],
    brokers: Annotated[str, typer.Option(help="Addresses of brokers, with commas: HOST:PORT,HOST:PORT.")],
    topic: Annotated[list[str], typer.Option(help="A topic with events; may be given several times, for requests and for answers.")],
    group: Annotated[str, typer.Option(help="Name of the consumer group, under which offsets are committed.")] = "evenhand",
    config: Annotated[Path | None, typer.Option(help="File with more options of librdkafka, a line `name=value` each.")] = None,
) -> None:
    """Log calls that are reported to Kafka, until stopped. Offsets are committed after the records are durable."""
    if Consumer is None:
        raise SetupError("`evenhand consume` needs the extra `kafka`: pip install 'evenhand[kafka]'.")
    settings = service_settings()
    if settings.database_url is None:
        raise SetupError("`evenhand consume` needs DATABASE_URL: the address of the service's database.")
    url = settings.database_url.get_secret_value()
    require_answer(url)
    own = {"bootstrap.servers": brokers, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    client = Consumer({**read_options(config), **own})
    client.subscribe(topic)
    spare_loaded_objects()
    try:
        asyncio.run(run_consumer(client, settings, url, deployment, stop_signal()))
    finally:
        client.close()


def read_options(path: Path | None) -> dict[str, Any]:
    """Returns the options in a file; empty lines and comments (`#`) are left out.

    Raises:
        InvalidInput: it cannot be read, or a line is of another form.
    """
    if path is None:
        return {}
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise InvalidInput.of("--config", f"names the file {path}, which cannot be read: {error}") from error
    found = {}
    for number, line in enumerate(lines, start=1):
        name, is_option, value = line.partition("=")
        if line and not line.startswith("#"):
            if not is_option:
                raise InvalidInput.of("--config", f"names the file {path}, whose line {number} is not name=value")
            found[name.strip()] = value.strip()
    return found


async def run_consumer(client: KafkaClient, settings: Settings, url: str, deployment: str, stop: threading.Event) -> None:
    """Reads until `stop` is set.

    Raises:
        NotFound: there is no such deployment.
        SetupError: the secret key or the allow-list of endpoints cannot be used.
    """
    database = Database(url)
    box = open_secret_box(settings)
    ingestion = Ingestion(database, sealer=box)
    policy = EgressPolicy.of(settings.allowed_endpoints, exposed_on=settings.exposed_on)
    plans = CallPlans(database, box, policy)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    threading.Thread(target=lambda: (stop.wait(), loop.call_soon_threadsafe(stopping.set)), daemon=True).start()
    await ingestion.start()
    try:
        await EventConsumer(client, CallStore(database, ingestion, plans, clock=utc_now), plans, deployment).run(stopping)
    finally:
        await plans.stop()
        await ingestion.stop()
        database.close()
