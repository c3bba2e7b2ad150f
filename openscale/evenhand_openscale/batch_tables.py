"""The data sources of a batch subscription as tables of files, and back."""

from .assets import AssetPropertiesIn
from .bodies import Sent, without_none
from .refused import invalid
from .v1 import Document, Json

FILE_FORMATS = ("parquet", "delta", "iceberg")

RECORD_ID, TIME = "scoring_id", "scoring_timestamp"

ENGINES = frozenset({"spark", "local"})
"""Types of `analytics_engine`. Which of them runs is the operator's setting."""


class ConnectionIn(Sent):
    """The system in which a table lies: its type is the format of the files."""

    type: str
    integrated_system_id: str | None = None


class DataSourceIn(Sent):
    """A table. `parameters.location` is its folder; `parameters.partition_column` a column in the paths of its files."""

    type: str
    connection: ConnectionIn | None = None
    parameters: Json | None = None


def require_engine(engine: Document | None) -> None:
    if engine is None:
        return
    if engine.get("type") not in ENGINES:
        raise invalid("analytics_engine.type", f"must be one of {', '.join(sorted(ENGINES))}; others are not supported by Evenhand")
    for name in ("integrated_system_id", "credentials"):
        if engine.get(name) is not None:
            message = "is not supported by Evenhand: the operator sets the engine and its address (EVENHAND_ENGINE, EVENHAND_SPARK_URL)"
            raise invalid(f"analytics_engine.{name}", message)


def tables_json(sources: list[DataSourceIn], properties: AssetPropertiesIn) -> Json:
    """Returns the tables as REST v1 takes them: payload, and feedback or None."""
    tables: Json = {"payload": None, "feedback": None}
    fields = [] if properties.output_data_schema is None else properties.output_data_schema.fields
    roles = {str(field.metadata.get("modeling_role")): field.name for field in fields}
    record_id = properties.transaction_id_field or roles.get("record-id", RECORD_ID)
    time = roles.get("record-timestamp", TIME)
    for place, source in enumerate(sources):
        at = f"data_sources[{place}]"
        if source.type not in tables:
            raise invalid(f"{at}.type", f"must be payload or feedback; a table of {source.type[:60]} is not supported by Evenhand")
        if tables[source.type] is not None:
            raise invalid(f"{at}.type", f"names a second table of {source.type}")
        if source.type == "payload":
            columns: Json = {"id": record_id, "scored_at": time, "prediction": properties.prediction_field or "prediction"}
            columns["probability"] = next(iter(properties.probability_fields or ()), None)
            label = properties.predicted_target_field
            columns["label"] = None if label == columns["prediction"] else label
        else:
            columns = {"id": record_id, "observed_at": time, "label": properties.label_column or "label"}
        tables[source.type] = {"source": "table", **_place_json(source, at), "columns": columns}
    if tables["payload"] is None:
        raise invalid("data_sources", "must name the table of type payload: a batch subscription logs no records")
    return tables


def data_sources_of(deployment: Json) -> list[Json]:
    return [
        {
            "type": kind,
            "connection": {"type": table["format"]},
            "parameters": without_none({"location": table["location"], "partition_column": table.get("partition_by")}),
        }
        for kind in ("payload", "feedback")
        if (table := deployment[kind]) is not None
    ]


def _place_json(source: DataSourceIn, at: str) -> Json:
    connection = source.connection
    kind = "parquet" if connection is None else connection.type.lower()
    if kind not in FILE_FORMATS:
        advice = "write its rows as Parquet files, and name their folder as parameters.location"
        raise invalid(
            f"{at}.connection.type", f"must be one of {', '.join(FILE_FORMATS)}; {kind[:60]} is not supported by Evenhand: {advice}"
        )
    if connection is not None and connection.integrated_system_id is not None:
        message = "is not supported by Evenhand: name the folder of the files as parameters.location"
        raise invalid(f"{at}.connection.integrated_system_id", message)
    parameters = source.parameters or {}
    location = parameters.get("location")
    if not isinstance(location, str):
        raise invalid(f"{at}.parameters.location", "must be the whole path of the folder in which the files lie")
    return {"format": kind, "location": location, "partition_by": parameters.get("partition_column")}
