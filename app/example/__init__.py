"""The worked example: a credit-risk model, its traffic, and what Evenhand says of it.

Read `story.py` first. `client.py`, `traffic.py` and `stream.py` show what a program does to have its model watched; the rest is
scenery: made-up applicants, the model, its server, and what is printed.
"""
