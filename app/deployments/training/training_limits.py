"""Limits of the training data that are read, and of the facts about them that are kept."""

MAX_FILE_BYTES = 512 * 1024 * 1024

MAX_DISTRIBUTION_BYTES = 16 * 1024 * 1024

MAX_RECORDS = 10_000_000
"""A Parquet file of a few bytes can hold any number of rows."""

MAX_WEIGHT = 1e12
"""Sums of weights and of their squares stay in the range of floats."""

MIN_WEIGHT = 1e-12
"""The squares of smaller weights could vanish."""

MAX_LINE_BYTES = 1024 * 1024
"""Of a CSV file, and of a piece, of which the reader holds a few dozen."""

BATCH_ROWS = 65_536

MOST_VALUES = 1_000

MOST_CELLS = 50_000
"""Distinct values × distinct labels of one column; beyond, it counts as one of too many values."""

LONGEST_VALUE = 200
"""As long as a monitor may list."""

BINS = 20
"""With about equally many records."""

SAMPLED = 10_000
"""Records by which the bins are divided."""

MOST_COLUMNS = 4
"""Three attributes together, and the strata."""

MOST_COUNTED = 2**53

MOST_PROBLEMS = 100

MOST_PAIRS = 2_000
"""Of a meta field and a feature. Each takes about half a millisecond a piece."""

MOST_PAIR_CELLS = 5_000_000
"""Of all pairs' count tables together: 40 MB."""

LEAST_STRENGTH = 0.1
"""Uncorrected. Weaker features cannot be picked."""

DONORS = 2_000
"""Of a value or interval. A rate over that many is off by at most 2.2 points in 95 of 100 files."""

MOST_DONOR_GROUPS = 100
"""Of a meta field, the most frequent values."""

MOST_DONOR_PLACES = 5_000
"""Of all meta fields: about 100 MB while a file is read."""

MOST_DONOR_VALUES = 250_000
"""Of one meta field: with the longest texts, as much as one stored document may hold."""

MOST_DONOR_VALUES_TOGETHER = 1_000_000
"""Of all meta fields, which are held at once."""
