"""The payload record that was logged last."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...domain.deployments import Deployment
from ...domain.records import Prediction
from ...domain.values import Scalar
from ...frozen import frozen
from ..tables import PayloadRecordRow


@frozen(kw_only=True)
class NewestRecord:
    """One logged record; its features are in the order of `schema_version`."""

    id: str
    schema_version: int
    model_revision: str
    features: Sequence[Scalar | None]
    answer: Prediction

    def has_columns_of(self, deployment: Deployment) -> bool:
        return self.schema_version == deployment.schema.version


def newest_record(session: Session, deployment_no: int) -> NewestRecord | None:
    """Returns the newest payload record of any schema version."""
    of_deployment = select(PayloadRecordRow).where(PayloadRecordRow.deployment_no == deployment_no)
    newest_first = of_deployment.order_by(PayloadRecordRow.logged_at.desc(), PayloadRecordRow.record_no.desc())
    row = session.scalars(newest_first.limit(1)).first()
    if row is None:
        return None
    probability = tuple(row.probability) if isinstance(row.probability, list) else row.probability
    return NewestRecord(
        id=row.record_id,
        schema_version=row.schema_version,
        model_revision=row.model_revision,
        features=row.features,
        answer=Prediction(row.prediction, probability, row.label),
    )
