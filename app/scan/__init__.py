"""Subgroups that nobody listed: found by a scan over binned features, confirmed on later hours.

The scan looks for the combination of values whose favourable records fall short most, compared with the rate that is expected in their
stratum. It says how often chance alone would find as much. A candidate becomes a finding only by evidence from later hours. Source: Zhang
and Neill, Identifying significant predictive bias in classifiers, arXiv 1611.08292.
"""
