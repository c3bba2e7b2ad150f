"""The whole document of this face against the real service, by schemathesis: IBM's envelope, and no fault of ours.

`scripts/trial security openscale` tries more examples.
"""

from pathlib import Path

import pytest

from app.store.database.engine import Database
from tests.security.openscale_fuzzing import OpenScaleFuzzing
from tests.service import running_service


@pytest.mark.nightly
def test_no_route_fails_or_answers_anything_that_the_sdk_cannot_show(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path) as service:
        fuzzing = OpenScaleFuzzing.of(service)
        fuzzing.run(4)

    assert fuzzing.faults == []
    assert fuzzing.requests > 200
