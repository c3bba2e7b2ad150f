"""A subscription's asset and fields as a deployment, and a deployment as those."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field

from .bodies import Sent, without_none
from .refused import invalid, invalid_fields
from .v1 import Document, Json

_TYPES = {
    "string": "string",
    "boolean": "boolean",
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "bigint", "int64"), "integer"),
    **dict.fromkeys(("double", "float", "number", "float64"), "number"),
}

_NO_COLUMN = ("prediction", "probability", "class_probability", "decoded-target", "target", "record-id", "record-timestamp")


class AssetIn(Sent):
    asset_id: str
    asset_type: str = "model"
    name: str | None = None
    url: str | None = None
    problem_type: str | None = None
    input_data_type: str | None = None
    created_at: str | None = None
    model_type: str | None = None
    runtime_environment: str | None = None


class SchemaField(Sent):
    name: str
    type: str | Json = "string"
    metadata: Json = Field(default_factory=dict)


class SchemaIn(Sent):
    fields: list[SchemaField]


class AssetPropertiesIn(Sent):
    """Names of the model's fields. `training_data_reference` is neither followed nor stored: Evenhand reads no data of other services."""

    label_column: str | None = None
    labels: list[Any] | None = None
    prediction_field: str | None = None
    predicted_target_field: str | None = None
    transaction_id_field: str | None = None
    prediction_names: list[str] | None = None
    probability_fields: list[str] | None = None
    feature_fields: list[str] | None = None
    categorical_fields: list[str] | None = None
    input_data_schema: SchemaIn | None = None
    training_data_schema: SchemaIn | None = None
    output_data_schema: SchemaIn | None = None


def columns_json(properties: AssetPropertiesIn) -> Json:
    """Returns the features and meta fields that the properties and schemas name, as REST v1 takes them.

    Without a schema, categorical fields are taken for text and the others for numbers. Columns of a schema that are neither features nor of
    another role are meta fields: logged, never sent to the model.
    """
    known = {
        field.name: field for schema in (properties.training_data_schema, properties.input_data_schema) if schema for field in schema.fields
    }
    names = properties.feature_fields or [name for name, field in known.items() if _role_of(field) == "feature"]
    if not names:
        message = "must name the features; or send an input_data_schema whose fields have the modeling_role feature"
        raise invalid("asset_properties.feature_fields", message)
    outputs = {properties.label_column, properties.prediction_field, properties.predicted_target_field, properties.transaction_id_field}
    outputs |= set(properties.probability_fields or ())
    meta = [
        name
        for name, field in known.items()
        if name not in names and name not in outputs and _role_of(field) not in _NO_COLUMN and not field.metadata.get("deleted")
    ]
    categorical = set(properties.categorical_fields or ())
    columns = {
        "features": [_column_json(name, known.get(name), categorical) for name in names],
        "meta": [_column_json(name, known.get(name), categorical) for name in meta],
    }
    unknown = [column for part in columns.values() for column in part if column["type"] not in _TYPES.values()]
    if unknown:
        field = "asset_properties.input_data_schema"
        raise invalid_fields(
            [(field, f"{column['name']!r} has the type {column['type']!r}, which is none of a column") for column in unknown]
        )
    return columns


def require_structured(asset: AssetIn) -> None:
    if asset.input_data_type not in (None, "structured"):
        message = f"{asset.input_data_type!r:.60} is not supported by Evenhand, which watches models of structured data"
        raise invalid("asset.input_data_type", message)


def outputs_json(properties: AssetPropertiesIn) -> Json:
    probability = next(iter(properties.probability_fields or ()), None)
    prediction = properties.prediction_field or "prediction"
    label = properties.predicted_target_field
    # Scripts name one column for both.
    return {"prediction": prediction, "probability": probability, "label": None if label == prediction else label}


_FIELDS_AS_SENT = {
    "name": "deployment.name",
    "problem_type": "asset.problem_type",
    "features": "asset_properties.feature_fields",
    "meta": "asset_properties.input_data_schema.fields",
    "outputs.prediction": "asset_properties.prediction_field",
    "outputs.probability": "asset_properties.probability_fields",
    "outputs.label": "asset_properties.predicted_target_field",
    "endpoint": "deployment.scoring_endpoint",
}


def deployment_field_as_sent(field: str) -> str:
    """Returns the path of a deployment's field as a path in the subscription that the SDK sends; one that it does not send stays."""
    for name, sent in _FIELDS_AS_SENT.items():
        if field == name or field.startswith((f"{name}.", f"{name}[")):
            return sent + field.removeprefix(name)
    return field


def properties_of(deployment: Json, kept: Document) -> Json:
    """Returns the properties of a deployment; `kept` are those that it does not know."""
    outputs, features = deployment["outputs"], deployment["features"]
    label = kept.get("label_column")
    return without_none(
        {
            **kept,
            "prediction_field": outputs["prediction"],
            "probability_fields": None if outputs["probability"] is None else [outputs["probability"]],
            "predicted_target_field": outputs["label"],
            "feature_fields": [column["name"] for column in features],
            "categorical_fields": [column["name"] for column in features if column["kind"] == "categorical"],
            "input_data_schema": schema_of(deployment),
            "training_data_schema": None if label is None else schema_of(deployment, [target_field(label, deployment)]),
            "output_data_schema": output_schema(deployment),
        }
    )


def output_schema(deployment: Json) -> Json:
    outputs = deployment["outputs"]
    fields = [_field(outputs["prediction"], _type_of_label(deployment), "prediction")]
    if outputs["probability"] is not None and outputs["probability"] != outputs["prediction"]:
        array = {"type": "array", "elementType": "double", "containsNull": True}
        fields.append(_field(outputs["probability"], array, "probability"))
    if outputs["label"] is not None:
        fields.append(_field(outputs["label"], "string", "decoded-target"))
    fields += [_field("scoring_id", "string", "record-id"), _field("scoring_timestamp", "timestamp", "record-timestamp")]
    return schema_of(deployment, fields)


def target_field(name: str, deployment: Json) -> Json:
    return _field(name, _type_of_label(deployment), "target")


def schema_of(deployment: Json, others: Iterable[Json] = ()) -> Json:
    fields = []
    for part, role in (("features", "feature"), ("meta", "meta-field")):
        for column in deployment[part]:
            field = _field(column["name"], "double" if column["type"] == "number" else column["type"], role)
            if column["kind"] == "categorical":
                field["metadata"]["measure"] = "discrete"
            fields.append(field)
    return {"type": "struct", "fields": [*fields, *others]}


def inferred_fields(names: Sequence[object], rows: Sequence[Sequence[Any]]) -> list[Json]:
    fields = []
    for place, name in enumerate(names):
        types = {type(row[place]) for row in rows if place < len(row) and row[place] is not None}
        if types == {bool}:
            kind = "boolean"
        elif types and types <= {int, float}:
            kind = "double" if float in types else "integer"
        else:
            kind = "string"
        fields.append({"name": str(name), "type": kind, "nullable": True, "metadata": {}})
    return fields


def _type_of_label(deployment: Json) -> str:
    return "double" if deployment["problem_type"] == "regression" else "string"


def _field(name: str, kind: str | Json, role: str) -> Json:
    return {"name": name, "type": kind, "nullable": True, "metadata": {"modeling_role": role}}


def _column_json(name: str, field: SchemaField | None, categorical: set[str]) -> Json:
    if field is None:
        is_text = name in categorical
        return {"name": name, "type": "string" if is_text else "number", "kind": "categorical" if is_text else "numeric"}
    written = field.type if isinstance(field.type, str) else str(field.type.get("type"))
    kind = "number" if written.startswith("decimal") else _TYPES.get(written, written)
    is_discrete = name in categorical or field.metadata.get("measure") == "discrete" or kind not in {"integer", "number"}
    return {"name": name, "type": kind, "kind": "categorical" if is_discrete else "numeric"}


def _role_of(field: SchemaField) -> str:
    return str(field.metadata.get("modeling_role") or "")
