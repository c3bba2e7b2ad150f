"""Evidence that accumulates over the hours: unfair since when, with a bound on false alarms.

Each hour's counts become an e-value, a factor with an expectation of at most 1 as long as the comparison stays inside its limit. Products
and sums may be looked at after every hour. Sources: Chugg et al., arXiv 2305.17570; Turner, Ly and Grünwald, arXiv 2106.02693; Shin, Ramdas
and Rinaldo, E-detectors.
"""
