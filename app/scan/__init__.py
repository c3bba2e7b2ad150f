"""Subgroups that nobody listed, found by a scan over binned features.

It seeks the combination of values whose favourable records fall short most of the rate of their stratum, and says how often chance alone
finds as much. Source: Zhang and Neill, Identifying significant predictive bias in classifiers, arXiv 1611.08292.
"""
