"""Simulated worlds whose truth is known, and a reader that holds every sentence against it.

`world.py` makes the worlds and has them measured by the real code. `reading.py` reads a text sentence by sentence; what a sentence may
say, and when that is true, is in the files of its subject (`figures.py`, `standing.py`). A sentence that no pattern knows fails: a new
kind of sentence is one more function under `@says`.
"""
