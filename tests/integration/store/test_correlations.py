"""What is stored of the correlations of training data is what is read back."""

from datetime import UTC, datetime

import pytest

from app.domain.definitions import Definition
from app.domain.deployments import Column, FieldKind, FieldType, OutputFields, ProblemType
from app.domain.training_data import (
    Association,
    AssociationMeasure,
    Correlated,
    Distribution,
    Donor,
    Donors,
    TrainingData,
    TrainingForm,
    TrainingSummary,
)
from app.store.correlations import associations_of, donor_features_of, donors_of
from app.store.deployments import Deployments
from app.store.engine import Database
from app.store.training_data import delete_training_data, store_training_data
from tests.scenes import PlainSealer

WEAK = Association(feature="a", measure=AssociationMeasure.ABSOLUTE_PEARSON, strength=None, records=0, left_out=3, reason="nobody")
STRONG = Association(feature="b", measure=AssociationMeasure.CRAMERS_V, strength=0.1 + 0.2, records=2, left_out=1)
KINDS = (("b", FieldType.STRING), ("c", FieldType.INTEGER), ("d", FieldType.BOOLEAN), ("e", FieldType.NUMBER))
BY_SEX = Correlated(
    "sex",
    (WEAK, STRONG),
    Donors(KINDS, (Donor("weiblich", 1.5, ("Zoë\t\"'\\ 🙂", 2**62, True, 1e-300)), Donor("m", 1.0, (None, None, None, None))), "d1"),
)
BY_FLAG = Correlated("flag", (), Donors((), (Donor(True, 1.0, ()),), "d2"))


@pytest.fixture
def deployment_no(database: Database) -> int:
    """A deployment to upload for."""
    column = Column(name="a", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
    definition = Definition(
        name="A model",
        problem_type=ProblemType.BINARY,
        features=(column,),
        meta=(),
        outputs=OutputFields(),
        model_revision="1",
        endpoint=None,
    )
    with database.transaction() as session:
        return Deployments(session, PlainSealer()).create("a-model", definition)[0].no


def store(database: Database, deployment_no: int, *correlated: Correlated) -> None:
    summary = TrainingSummary(
        form=TrainingForm.CSV,
        label="label",
        weight=None,
        records=3,
        schema_version=1,
        labels=Distribution((), ()),
        absent=(),
        processed_at=datetime(2030, 1, 1, tzinfo=UTC),
        processing_seconds=0.1,
    )
    with database.transaction() as session:
        store_training_data(session, deployment_no, TrainingData(summary, (), (), correlated))


def test_correlations_come_back_as_they_were_stored(database: Database, deployment_no: int) -> None:
    store(database, deployment_no, BY_SEX, BY_FLAG)

    with database.transaction() as session:
        assert associations_of(session, deployment_no, "sex") == (WEAK, STRONG)
        assert associations_of(session, deployment_no, "age") is None
        assert donor_features_of(session, deployment_no) == {"sex": dict(BY_SEX.donors.features), "flag": {}}
        assert donors_of(session, deployment_no, ["sex", "age"]) == {"sex": BY_SEX.donors}
        assert donors_of(session, deployment_no, ["flag"]) == {"flag": BY_FLAG.donors}


def test_another_upload_takes_the_place_of_the_earlier_one_and_a_deletion_leaves_nothing(database: Database, deployment_no: int) -> None:
    store(database, deployment_no, BY_SEX, BY_FLAG)
    store(database, deployment_no, BY_FLAG)

    with database.transaction() as session:
        assert set(donor_features_of(session, deployment_no)) == {"flag"}
        delete_training_data(session, deployment_no)
        assert donor_features_of(session, deployment_no) == {}
