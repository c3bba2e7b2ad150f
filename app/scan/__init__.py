"""Subgroups that nobody listed, found by a scan over binned features.

The scan looks for the combination of values whose favourable records fall short most, compared with the rate that is expected in their
stratum. It says how often chance alone would find as much. Source: Zhang and Neill, Identifying significant predictive bias in
classifiers, arXiv 1611.08292.
"""
