"""How much training data are read, and how much is kept of them."""

MAX_FILE_BYTES = 512 * 1024 * 1024
"""Of a CSV or Parquet file."""

MAX_DISTRIBUTION_BYTES = 16 * 1024 * 1024
"""Of a ready distribution, which is read as a whole."""

MAX_RECORDS = 10_000_000
"""Rows of a file. A Parquet file of a few bytes can hold any number of them."""

MAX_WEIGHT = 1e12
"""Of one record. The sums of weights and of their squares stay far from where numbers end."""

MIN_WEIGHT = 1e-12
"""Of one record that counts at all, for the same reason: the squares of smaller weights could vanish."""

MAX_LINE_BYTES = 1024 * 1024
"""Of one line of a CSV file; files are read in pieces of this size, of which the reader holds a few dozen."""

BATCH_ROWS = 65_536
"""Of a Parquet file, at a time."""

MAX_ROW_GROUP_BYTES = 4 * 1024 * 1024 * 1024
"""Of a row group of a Parquet file, unpacked. Its pages are unpacked as a whole, so that small files can need much room."""

MOST_VALUES = 1_000
"""Distinct values of a column that are kept one by one."""

MOST_CELLS = 50_000
"""Distinct values × distinct labels of one column. Beyond it the column is kept as one of too many values is."""

LONGEST_VALUE = 200
"""Characters of a text that is kept as a value, as long as a monitor may list. Longer ones are no categories."""

BINS = 20
"""Of a numeric column with too many values: intervals that hold about equally many records."""

SAMPLED = 10_000
"""Records by which the bins are divided; what is counted in the bins are all records."""

MOST_COLUMNS = 4
"""Of one ready distribution: three attributes together, and the strata."""

MOST_COUNTED = 2**53
"""Records of a ready distribution."""

MOST_PROBLEMS = 100
"""That one answer lists."""

MOST_PAIRS = 2_000
"""Pairs of a meta field and a feature whose association is measured. Each costs about half a millisecond a piece."""

MOST_PAIR_CELLS = 5_000_000
"""Of all pairs' count tables together: 40 MB."""

LEAST_STRENGTH = 0.1
"""Uncorrected, of a feature whose values are kept in donors. Weaker ones cannot be picked, so nothing of theirs is kept."""

DONORS = 2_000
"""Of one value of a meta field, or of one interval of its numbers. A rate over so many is off by at most 2.2 points in 95 of 100 files."""

MOST_DONOR_GROUPS = 100
"""Values of a meta field that have donors, the most frequent ones."""

MOST_DONOR_PLACES = 5_000
"""Values, or intervals, of all meta fields together among which donors are looked for: about 100 MB while a file is read."""

MOST_DONOR_VALUES = 250_000
"""Of the donors of one meta field, cell by cell: with texts of the longest kind, what one stored document may hold."""

MOST_DONOR_VALUES_TOGETHER = 1_000_000
"""Of the donors of all meta fields, which are held at once."""
