"""A copy that cannot be rebuilt says the true cause."""

from dataclasses import replace

import pytest

from app.checks.copies.copy_outcomes import CopyTarget
from app.deployments.training.queries import Donor, Donors
from app.domain.deployment import Column, FieldKind, FieldType, RecordSchema
from app.records.one_record import DONORS_REPLACED, rebuild_copy_target
from app.records.record_list import CopyKind
from app.sources.stored.copy_answers import TargetKey

SEX = Column(name="Sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
PRIORS = Column(name="Priors", type=FieldType.INTEGER, kind=FieldKind.NUMERIC)
SCHEMA = RecordSchema(version=1, features=(PRIORS,), meta=(SEX,))
KIND = CopyKind("Sex", "female", "female", None, ("Priors",), "digest")
KEY = TargetKey("1", 1, "Sex", "{}", 1, 42)
DONORS = Donors((("Priors", FieldType.INTEGER),), (Donor("female", 1.0, (3,)),), "digest")


def test_a_copy_of_the_same_donors_is_rebuilt() -> None:
    target = rebuild_copy_target(KIND, KEY, SCHEMA, DONORS)

    assert isinstance(target, CopyTarget)
    assert target.draw_changes("r1", 0) == {"Priors": 3}


@pytest.mark.parametrize(
    ("schema", "donors", "reason"),
    [
        (SCHEMA, None, DONORS_REPLACED),
        (SCHEMA, replace(DONORS, digest="another"), DONORS_REPLACED),
        (
            RecordSchema(version=1, features=(PRIORS,), meta=()),
            DONORS,
            "Sex is no column of the schema that the record was logged under.",
        ),
        (
            RecordSchema(version=1, features=(replace(PRIORS, type=FieldType.NUMBER),), meta=(SEX,)),
            DONORS,
            (
                "The schema that the record was logged under and the training data do not both have every feature "
                "that was changed with Sex, of the same type."
            ),
        ),
        (
            SCHEMA,
            replace(DONORS, donors=(Donor("male", 1.0, (3,)),)),
            "The training data keep no record of the group female of Sex.",
        ),
    ],
)
def test_a_copy_that_cannot_be_rebuilt_says_why(schema: RecordSchema, donors: Donors | None, reason: str) -> None:
    assert rebuild_copy_target(KIND, KEY, schema, donors) == reason
