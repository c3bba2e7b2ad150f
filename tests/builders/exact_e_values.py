"""E-values in arbitrary precision: slow, and written from the definition rather than from the closed form."""

from decimal import Decimal, localcontext

from app.statistics.e_values.nulls import Null

DIGITS = 50
HALVINGS = 160


def exact_terms(counts: tuple[tuple[int, int], tuple[int, int]], null: Null, bets: tuple[float, float]) -> list[Decimal]:
    """Returns the four terms of ln E of (favourable, records) of sides a and b for the rates bet on them.

    It finds the closest rates on the line by halving, on the derivative of the sum of n · KL.
    """
    with localcontext(prec=DIGITS):
        slope, slack = Decimal(null.slope), Decimal(null.slack)
        (s_a, n_a), (s_b, n_b) = (tuple(map(Decimal, side)) for side in counts)
        bet_a, bet_b = map(Decimal, bets)
        low, high = max(Decimal(0), slack / slope), min(Decimal(1), (1 + slack) / slope)
        for _ in range(HALVINGS):
            b = (low + high) / 2
            a = slope * b - slack
            rising = slope * n_a * (a - bet_a) / (a * (1 - a)) + n_b * (b - bet_b) / (b * (1 - b)) > 0
            low, high = (low, b) if rising else (b, high)
        a = slope * b - slack
        return [
            count * (part / at).ln()
            for s, n, bet, rate in ((s_a, n_a, bet_a, a), (s_b, n_b, bet_b, b))
            for count, part, at in ((s, bet, rate), (n - s, 1 - bet, 1 - rate))
        ]
