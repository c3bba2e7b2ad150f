"""Limits of the training data that are read, and of the facts about them that are kept."""

MAX_FILE_BYTES = 512 * 1024 * 1024

MAX_DISTRIBUTION_BYTES = 16 * 1024 * 1024

MAX_RECORDS = 10_000_000
"""A Parquet file of a few bytes can hold any number of rows."""

MAX_WEIGHT = 1e12

MIN_WEIGHT = 1e-12
"""The squares of smaller weights could vanish."""

MAX_LINE_BYTES = 1024 * 1024

BATCH_ROWS = 65_536

MOST_VALUES = 1_000

MOST_CELLS = 50_000
"""Distinct values × distinct labels of one column; beyond, it counts as one of too many values."""

LONGEST_VALUE = 200

BINS = 20

SAMPLED = 10_000

MOST_COLUMNS = 4

MOST_COUNTED = 2**53

MOST_PROBLEMS = 100

MOST_PAIRS = 2_000

MOST_PAIR_CELLS = 5_000_000
"""All pairs' count tables together take 40 MB."""

LEAST_STRENGTH = 0.1

DONORS = 2_000
"""A rate over that many of one value is off by at most 2.2 points in 95 of 100 files."""

MOST_DONOR_GROUPS = 100

MOST_DONOR_PLACES = 5_000

MOST_DONOR_VALUES = 250_000
"""As much as one stored document may hold, with the longest texts."""

MOST_DONOR_VALUES_TOGETHER = 1_000_000
