"""Evidence of deployments over time: counts each hour's own records once, and follows every comparison from hour to hour.

The arithmetic is in `app.evidence`. Here: the hours that are to be counted, the figures that a monitor watches, and their states.
"""
