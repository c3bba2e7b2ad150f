"""Limits of the training data that are read, and of the facts about them that are kept."""

MAX_FILE_BYTES = 512 * 1024 * 1024

MAX_DISTRIBUTION_BYTES = 16 * 1024 * 1024
"""Max bytes of a ready distribution, which is read as a whole."""

MAX_RECORDS = 10_000_000
"""Max rows of a file. A Parquet file of a few bytes can hold any number of them."""

MAX_WEIGHT = 1e12
"""Max weight of one record. The sums of weights and of their squares stay in the range of floats."""

MIN_WEIGHT = 1e-12
"""Min weight of one record that counts: the squares of smaller ones could vanish."""

MAX_LINE_BYTES = 1024 * 1024
"""Max bytes of one line of a CSV file, and of a piece, of which the reader holds a few dozen."""

BATCH_ROWS = 65_536

MOST_VALUES = 1_000

MOST_CELLS = 50_000
"""Max distinct values × distinct labels of one column; beyond it, it counts as one of too many values."""

LONGEST_VALUE = 200
"""Max characters of a text that is kept as a value, as long as a monitor may list."""

BINS = 20
"""Intervals of a numeric column with too many values, with about equally many records."""

SAMPLED = 10_000
"""Max records by which the bins are divided; the bins then count all records."""

MOST_COLUMNS = 4
"""Max columns of one ready distribution: three attributes together, and the strata."""

MOST_COUNTED = 2**53

MOST_PROBLEMS = 100

MOST_PAIRS = 2_000
"""Max pairs of a meta field and a feature. Each takes about half a millisecond a piece."""

MOST_PAIR_CELLS = 5_000_000
"""Max cells of all pairs' count tables together: 40 MB."""

LEAST_STRENGTH = 0.1
"""Min strength, uncorrected, of a feature whose values are kept in donors. Weaker ones cannot be picked."""

DONORS = 2_000
"""Max donors of one value of a meta field, or of one interval. A rate over that many is off by at most 2.2
points in 95 of 100 files.
"""

MOST_DONOR_GROUPS = 100
"""Max values of a meta field that have donors, the most frequent ones."""

MOST_DONOR_PLACES = 5_000
"""Max values, or intervals, of all meta fields that donors are looked for: about 100 MB while a file is
read.
"""

MOST_DONOR_VALUES = 250_000
"""Max cells of the donors of one meta field: with the longest texts, as much as one stored document may
hold.
"""

MOST_DONOR_VALUES_TOGETHER = 1_000_000
"""Max cells of the donors of all meta fields, which are held at once."""
