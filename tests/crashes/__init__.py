"""The failure harness: the real service under load, killed again and again, and what must hold afterwards.

`scripts/trial crash` runs the stories at full length, `tests/e2e` in short. Needs Linux: processes are found through /proc.
"""
