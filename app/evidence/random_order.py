"""Order in which a round works through deployments."""

import random
from collections.abc import Sequence


def in_random_order(deployment_nos: Sequence[int]) -> list[int]:
    """An error that ends the round does not always cut off the same deployments."""
    return random.sample(deployment_nos, len(deployment_nos))
