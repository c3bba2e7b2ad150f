"""Random typed files: codes, numbers, decimals and booleans as groups, several kinds of outcomes, empty cells, blanks and umlauts."""

from datetime import datetime, timedelta

import numpy as np

from tests.field.doors import Row, TypedFile

TEXTS = (
    *("01", "1", "1.0", "1E5", "100000", "9007199254740993", "9007199254740992", "18-25", "1_000", "+1", "-0", "0", "1,5", "1;5"),
    *(
        "True",
        "TRUE",
        "true",
        "False",
        "yes",
        "NA",
        "N/A",
        "null",
        "None",
        "nan",
        "NaN",
        "inf",
        "-",
        "?",
        "a",
        "a ",
        " a",
        "A",
        "'a",
        "=1+1",
    ),
    *("männlich", "Ä", "ß", "é", "e\N{COMBINING ACUTE ACCENT}", "\N{MATHEMATICAL DOUBLE-STRUCK DIGIT ONE}", 'say "x"', "a, b", "x" * 200),
)
"""Texts that readers of numbers, booleans or missing values take for something else, and pairs that differ by little."""

GROUPS = {
    "string": TEXTS,
    "integer": ("0", "1", "2", "7", "-1", "100000", "20261020", "9007199254740993", "9007199254740992"),
    "number": ("0.1", "0.5", "1.5", "100000.0", "-2.25", "0.30000000000000004", "0.3", "1e-07"),
    "boolean": ("true", "false"),
}
"""Cells by the kind of the attribute. Each number is spelled in one way."""

OUTCOMES = {
    "string": (
        ("yes", "no"),
        ("01", "1"),
        ("NA", "null"),
        ("yes ", "yes"),
        ("Ä", "männlich"),
        ("True", "False"),
        ("1", "0"),
        ("1.0", "1"),
        ("1E5", "100000"),
    ),
    "integer": (("1", "0"), ("-1", "1"), ("100000", "7")),
    "number": (("0.5", "1.5"), ("1.0", "0.0")),
    "boolean": (("true", "false"),),
}
"""The favourable and the unfavourable cell, by the kind of the predictions."""


def draw_file(seed: int, hour: datetime) -> TypedFile:
    """Draws a file of the hours before this one."""
    rng = np.random.default_rng(seed)
    code = str(rng.choice(list(GROUPS), p=[0.7, 0.1, 0.1, 0.1]))
    prediction = str(rng.choice(list(OUTCOMES)))
    pairs = OUTCOMES[prediction]
    favourable, unfavourable = pairs[rng.integers(len(pairs))]
    cells = rng.permutation(GROUPS[code])[: rng.integers(2, 8)]
    rates = rng.uniform(0.1, 0.9, len(cells))
    is_sparse = rng.random() < 0.5
    rows = []
    for number in range(int(rng.integers(40, 160))):
        # Two of each group come first, so that none is missing.
        place = number // 2 if number < 2 * len(cells) else int(rng.integers(len(cells)))
        is_favourable = bool(rng.random() < rates[place])
        cell = "" if is_sparse and number >= 2 * len(cells) and rng.random() < 0.1 else str(cells[place])
        at = hour - timedelta(hours=int(rng.integers(1, 9)), seconds=-int(rng.integers(3600)))
        rows.append(Row(f"{seed}-{number:03}", f"{at:%Y-%m-%dT%H:%M:%SZ}", cell, favourable if is_favourable else unfavourable))
    return TypedFile(tuple(rows), str(cells[0]), (favourable,), (unfavourable,), code, prediction)
