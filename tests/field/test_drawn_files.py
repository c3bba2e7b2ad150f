"""Commands, library and service count the same in random typed files, through every door. `scripts/trial reading` tries a thousand."""

from pathlib import Path

import pytest

from app.base.clock import floor_to_hour, utc_now
from tests.examples import many
from tests.field.comparing import FOLLOWING, compare_doors
from tests.field.doors import SERVICE_DOORS, ServiceDoors
from tests.field.drawn_files import draw_file

FILES = many(96)
OTHERS = [name for name in SERVICE_DOORS if name != FOLLOWING]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(FILES))
def test_a_random_file_is_read_alike_through_every_door(doors: ServiceDoors, seed: int, tmp_path: Path) -> None:
    file = draw_file(seed, floor_to_hour(utc_now()))

    assert compare_doors(file, doors, tmp_path, [FOLLOWING, OTHERS[seed % len(OTHERS)]]) == []
