"""What is stored of the correlations of training data is what is read back."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from app.database.engine import Database
from app.deployments.queries import Definition, Deployments
from app.deployments.training.queries import (
    NOT_CORRECTED,
    Association,
    AssociationMeasure,
    AttributeAssociations,
    Distribution,
    Donor,
    Donors,
    TrainingData,
    TrainingForm,
    TrainingSummary,
    delete_training_data,
    read_associations,
    read_donor_features,
    read_donors,
    store_training_data,
)
from app.domain.deployment import Column, FieldKind, FieldType, OutputFields, ProblemType
from tests.scenes import PlainSealer

WEAK = Association(
    feature="a",
    measure=AssociationMeasure.ABSOLUTE_PEARSON,
    strength=None,
    chance_level=None,
    uncorrected=None,
    records=0,
    left_out=3,
    reason="nobody",
)
STRONG = replace(WEAK, feature="b", strength=0.1 + 0.2, chance_level=0.2, uncorrected=0.4, records=2, left_out=1, reason=None)
KINDS = (("b", FieldType.STRING), ("c", FieldType.INTEGER), ("d", FieldType.BOOLEAN), ("e", FieldType.NUMBER))
BY_SEX = AttributeAssociations(
    "sex",
    (WEAK, STRONG),
    Donors(KINDS, (Donor("weiblich", 1.5, ("Zoë\t\"'\\ 🙂", 2**62, True, 1e-300)), Donor("m", 1.0, (None, None, None, None))), "d1"),
)
BY_FLAG = AttributeAssociations("flag", (), Donors((), (Donor(True, 1.0, ()),), "d2"))


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


def store(database: Database, deployment_no: int, *correlated: AttributeAssociations) -> None:
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
        assert read_associations(session, deployment_no, ["sex", "age"]) == {"sex": (WEAK, STRONG)}
        assert read_donor_features(session, deployment_no) == {"sex": dict(BY_SEX.donors.features), "flag": {}}
        assert read_donors(session, deployment_no, ["sex", "age"]) == {"sex": BY_SEX.donors}
        assert read_donors(session, deployment_no, ["flag"]) == {"flag": BY_FLAG.donors}


def test_a_strength_that_an_earlier_version_stored_comes_back_as_uncorrected_with_the_reason(
    database: Database, deployment_no: int
) -> None:
    store(database, deployment_no, BY_SEX)
    earlier = json.dumps([["a", "absolute_pearson", None, 0, 3, "nobody"], ["b", "cramers_v", 0.649, 2, 1, None]])
    with database.transaction() as session:
        session.execute(text("UPDATE training_correlations SET associations = :earlier"), {"earlier": earlier})

    with database.transaction() as session:
        unmeasured, uncorrected = read_associations(session, deployment_no, ["sex"])["sex"]

    assert unmeasured == WEAK
    assert (uncorrected.strength, uncorrected.chance_level, uncorrected.uncorrected) == (None, None, 0.649)
    assert (uncorrected.reason, uncorrected.is_corrected, uncorrected.is_recommended()) == (NOT_CORRECTED, False, False)


def test_another_upload_takes_the_place_of_the_earlier_one_and_a_deletion_leaves_nothing(database: Database, deployment_no: int) -> None:
    store(database, deployment_no, BY_SEX, BY_FLAG)
    store(database, deployment_no, BY_FLAG)

    with database.transaction() as session:
        assert set(read_donor_features(session, deployment_no)) == {"flag"}
        delete_training_data(session, deployment_no)
        assert read_donor_features(session, deployment_no) == {}
