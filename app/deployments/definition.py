"""The content of a deployment: everything but what the store adds (numbers, versions, times)."""

from ..base.values import frozen_by_name
from ..database.binary_rows import read_row
from ..domain.deployment import Column, Deployment, ModelFacts


@frozen_by_name
class Definition(ModelFacts):
    features: tuple[Column, ...]
    meta: tuple[Column, ...]


def build_definition(deployment: Deployment) -> Definition:
    return read_row(Definition, deployment, features=deployment.schema.features, meta=deployment.schema.meta)
