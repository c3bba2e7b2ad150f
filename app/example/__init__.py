"""The worked example: a credit-risk model, its traffic, and Evenhand's results.

Read `story.py` first. `client.py`, `traffic.py` and `stream.py` show how a program has its model watched; the rest is scenery.
"""
