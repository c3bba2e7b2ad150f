"""Order in which deployments get their turn."""

import random
from collections.abc import Sequence


def in_turn(deployment_nos: Sequence[int]) -> list[int]:
    """Returns a new random order: an error of the database ends the round, and must not always cut off the
    same ones.
    """
    return random.sample(deployment_nos, len(deployment_nos))
