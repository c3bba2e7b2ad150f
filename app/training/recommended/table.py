"""All kinds, in the order in which a column that could be several is taken."""

from app.training.recommended.age import AGE
from app.training.recommended.marital_status import MARITAL_STATUS
from app.training.recommended.postal_code import POSTAL_CODE
from app.training.recommended.race import RACE
from app.training.recommended.sex import SEX

KINDS = (SEX, RACE, MARITAL_STATUS, AGE, POSTAL_CODE)
