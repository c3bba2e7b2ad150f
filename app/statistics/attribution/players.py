"""Players: features that move from one record to another together."""

from collections.abc import Sequence

import numpy as np

from ..group_labels import FloatArray

TOGETHER_FROM = 0.5
"""Strength of association from which two features are one player, as a hybrid would be a record that hardly
exists.

Cohen (Statistical Power Analysis for the Behavioral Sciences, 2nd edition, 1988, chapters 3 and 7) calls
0.5 a large effect.
"""


def join_players(strengths: FloatArray) -> tuple[tuple[int, ...], ...]:
    """Features of each player, by position and in order.

    Features associated by at least `TOGETHER_FROM`, directly or through others, are one player.
    `strengths` [features, features] is symmetric, from 0 to 1; NaN joins nothing.
    """
    player_of = np.arange(len(strengths))
    for first, second in np.argwhere(np.triu(strengths >= TOGETHER_FROM, k=1)).tolist():
        # Either may have been joined with others before.
        player_of[player_of == player_of[second]] = player_of[first]
    return as_players(player_of.tolist())


def as_players(player_of: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    players = dict[int, list[int]]()
    for feature, player in enumerate(player_of):
        players.setdefault(player, []).append(feature)
    return tuple(map(tuple, players.values()))
