"""One fairness check, from window to stored result; `check.py` is the story."""
