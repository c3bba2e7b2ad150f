"""One fairness check, from window to stored result; `check.py` holds its order."""
