"""A subscription's asset and fields as a deployment, and a deployment as those: one deployment, said in two ways."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from ..domain.deployments import Column, Deployment, FieldKind, FieldType, ProblemType
from ..errors import FieldProblem, InvalidInput
from .bodies import Answer, Sent, without_none

_TYPES = {
    "string": FieldType.STRING,
    "boolean": FieldType.BOOLEAN,
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "bigint", "int64"), FieldType.INTEGER),
    **dict.fromkeys(("double", "float", "number", "float64"), FieldType.NUMBER),
}
_SPARK = {FieldType.STRING: "string", FieldType.BOOLEAN: "boolean", FieldType.INTEGER: "integer", FieldType.NUMBER: "double"}

_NO_COLUMN = ("prediction", "probability", "class_probability", "decoded-target", "target", "record-id", "record-timestamp")
"""Roles of schema fields that are neither a feature nor a meta field."""

_SCHEMAS = ("input_data_schema", "training_data_schema")


class AssetIn(Sent):
    """The model."""

    asset_id: str = Field(max_length=500)
    asset_type: str = Field(default="model", max_length=100)
    name: str | None = Field(default=None, max_length=200)
    url: str | None = Field(default=None, max_length=2000)
    problem_type: str | None = Field(default=None, max_length=100)
    input_data_type: str | None = Field(default=None, max_length=100)
    created_at: str | None = Field(default=None, max_length=100)
    model_type: str | None = Field(default=None, max_length=100)
    runtime_environment: str | None = Field(default=None, max_length=100)


class SchemaField(Sent):
    """One field of a schema."""

    name: str = Field(min_length=1, max_length=200)
    type: str | dict[str, Any] = "string"
    nullable: bool = True
    metadata: dict[str, Any] = Field(default_factory=dict)


class SchemaIn(Sent):
    """A schema in the form of Spark."""

    type: str = "struct"
    fields: list[SchemaField]


class AssetPropertiesIn(Sent):
    """Names of the model's fields. `training_data_reference` is neither followed nor stored: Evenhand reads no data of other services."""

    label_column: str | None = Field(default=None, max_length=200)
    labels: list[Any] | None = None
    prediction_field: str | None = Field(default=None, max_length=200)
    predicted_target_field: str | None = Field(default=None, max_length=200)
    transaction_id_field: str | None = Field(default=None, max_length=200)
    prediction_names: list[str] | None = None
    probability_fields: list[str] | None = None
    feature_fields: list[str] | None = None
    categorical_fields: list[str] | None = None
    input_data_schema: SchemaIn | None = None
    training_data_schema: SchemaIn | None = None
    output_data_schema: SchemaIn | None = None


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """The columns of a model's records."""

    features: tuple[Column, ...]
    meta: tuple[Column, ...]


def columns_of(properties: AssetPropertiesIn) -> FoundColumns:
    """Returns the features and meta fields that the properties and schemas name.

    Without a schema, categorical fields are taken for text and the others for numbers. Columns of a schema that are neither features
    nor of another role are meta fields: logged, never sent to the model.

    Raises:
        InvalidInput: no feature is named, or a field has a type that is none of a column.
    """
    known = {
        field.name: field for schema in (properties.training_data_schema, properties.input_data_schema) if schema for field in schema.fields
    }
    names = properties.feature_fields or [name for name, field in known.items() if _role_of(field) == "feature"]
    if not names:
        message = "must name the features; or send an input_data_schema whose fields have the modeling_role feature"
        raise InvalidInput.of("asset_properties.feature_fields", message)
    outputs = {properties.label_column, properties.prediction_field, properties.predicted_target_field, properties.transaction_id_field}
    outputs |= set(properties.probability_fields or ())
    meta = [
        name
        for name, field in known.items()
        if name not in names and name not in outputs and _role_of(field) not in _NO_COLUMN and not field.metadata.get("deleted")
    ]
    categorical = set(properties.categorical_fields or ())
    problems: list[FieldProblem] = []
    found = [[_column(name, known.get(name), categorical, problems) for name in part] for part in (names, meta)]
    if problems:
        raise InvalidInput(problems)
    return FoundColumns(tuple(found[0]), tuple(found[1]))


def problem_type_of(asset: AssetIn) -> ProblemType:
    """Returns the kind of the model's prediction.

    Raises:
        InvalidInput: it is none that Evenhand watches, or of texts or images, which have no columns.
    """
    if asset.input_data_type not in (None, "structured"):
        message = f"{asset.input_data_type!r:.60} is not supported by Evenhand, which watches models of structured data"
        raise InvalidInput.of("asset.input_data_type", message)
    try:
        return ProblemType(asset.problem_type or "")
    except ValueError as error:
        kinds = ", ".join(kind.value for kind in ProblemType)
        raise InvalidInput.of("asset.problem_type", f"must be one of {kinds}, found {asset.problem_type!r}") from error


def outputs_json(properties: AssetPropertiesIn) -> Answer:
    """Returns the names of the outputs as REST v1 takes them."""
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


def columns_json(columns: Iterable[Column]) -> list[Answer]:
    """Returns columns as REST v1 takes them."""
    return [{"name": column.name, "type": column.type.value, "kind": column.kind.value} for column in columns]


def properties_of(deployment: Deployment, kept: Mapping[str, Any]) -> Answer:
    """Returns the properties of a deployment; `kept` are those that a subscription added and a deployment does not know."""
    outputs, schema = deployment.outputs, deployment.schema
    label = kept.get("label_column")
    return without_none(
        {
            **kept,
            "prediction_field": outputs.prediction,
            "probability_fields": None if outputs.probability is None else [outputs.probability],
            "predicted_target_field": outputs.label,
            "feature_fields": [column.name for column in schema.features],
            "categorical_fields": [column.name for column in schema.features if column.kind is FieldKind.CATEGORICAL],
            "input_data_schema": schema_of(schema.features, schema.meta),
            "training_data_schema": None if label is None else schema_of(schema.features, schema.meta, [target_field(label, deployment)]),
            "output_data_schema": output_schema(deployment),
        }
    )


def output_schema(deployment: Deployment) -> Answer:
    """Returns the schema of a logged record: inputs, outputs, id and time."""
    outputs, schema = deployment.outputs, deployment.schema
    kind = "double" if deployment.problem_type is ProblemType.REGRESSION else "string"
    fields = [_field(outputs.prediction, kind, "prediction")]
    if outputs.probability is not None and outputs.probability != outputs.prediction:
        array = {"type": "array", "elementType": "double", "containsNull": True}
        fields.append(_field(outputs.probability, array, "probability"))
    if outputs.label is not None:
        fields.append(_field(outputs.label, "string", "decoded-target"))
    fields += [_field("scoring_id", "string", "record-id"), _field("scoring_timestamp", "timestamp", "record-timestamp")]
    return schema_of(schema.features, schema.meta, fields)


def target_field(name: str, deployment: Deployment) -> Answer:
    """Returns the schema field of the label."""
    return _field(name, "double" if deployment.problem_type is ProblemType.REGRESSION else "string", "target")


def schema_of(features: Sequence[Column], meta: Sequence[Column], others: Sequence[Answer] = ()) -> Answer:
    """Returns columns as a schema in the form of Spark."""
    named = [*((column, "feature") for column in features), *((column, "meta-field") for column in meta)]
    fields = []
    for column, role in named:
        field = _field(column.name, _SPARK[column.type], role)
        if column.kind is FieldKind.CATEGORICAL:
            field["metadata"]["measure"] = "discrete"
        fields.append(field)
    return {"type": "struct", "fields": [*fields, *others]}


def _field(name: str, kind: str | Answer, role: str) -> Answer:
    return {"name": name, "type": kind, "nullable": True, "metadata": {"modeling_role": role}}


def _column(name: str, field: SchemaField | None, categorical: set[str], problems: list[FieldProblem]) -> Column:
    if field is None:
        is_text = name in categorical
        return Column(
            name=name,
            type=FieldType.STRING if is_text else FieldType.NUMBER,
            kind=FieldKind.CATEGORICAL if is_text else FieldKind.NUMERIC,
        )
    written = field.type if isinstance(field.type, str) else str(field.type.get("type"))
    kind = FieldType.NUMBER if written.startswith("decimal") else _TYPES.get(written)
    if kind is None:
        problems.append(FieldProblem(f"asset_properties.{_SCHEMAS[0]}", f"{name!r} has the type {written!r}, which is none of a column"))
        kind = FieldType.STRING
    is_number = kind in (FieldType.INTEGER, FieldType.NUMBER)
    is_discrete = name in categorical or field.metadata.get("measure") == "discrete" or not is_number
    return Column(name=name, type=kind, kind=FieldKind.CATEGORICAL if is_discrete else FieldKind.NUMERIC)


def _role_of(field: SchemaField) -> str:
    return str(field.metadata.get("modeling_role") or "")
