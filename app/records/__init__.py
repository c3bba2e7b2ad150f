"""Records read by a monitor: the outcome and the groups of each one. Knows no database and no HTTP.

Reads columns of records and returns one code per record. A check passes its window, training data their batches, a live request or a
page its few records; the library turns its DataFrame into the same columns. `association.py` measures how far two columns go together.
"""
