"""Features that are one player."""

import numpy as np

from app.statistics.attribution.hybrid_values import group_features, join_players


def strengths(size: int, *joined: tuple[int, int, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    found = np.zeros((size, size))
    for one, other, strength in joined:
        found[one, other] = found[other, one] = strength
    return found


def test_features_without_association_are_a_player_each() -> None:
    assert join_players(strengths(3)) == ((0,), (1,), (2,))


def test_features_are_joined_by_way_of_others_whatever_their_order() -> None:
    assert join_players(strengths(5, (0, 4, 0.5), (2, 4, 0.9), (1, 3, 0.49))) == ((0, 2, 4), (1,), (3,))
    assert join_players(strengths(4, (0, 1, 0.8), (2, 3, 0.8), (1, 2, 0.8))) == ((0, 1, 2, 3),)


def test_an_undefined_association_joins_nothing() -> None:
    assert join_players(strengths(2, (0, 1, np.nan))) == ((0,), (1,))


def test_players_are_in_the_order_of_their_first_feature() -> None:
    assert group_features([7, 2, 7, 1]) == ((0, 2), (1,), (3,))
