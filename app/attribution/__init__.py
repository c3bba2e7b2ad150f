"""Attribution of a gap between two groups to the features and cells that it is carried by; "carried", because nothing here is causal.

With a model to ask, `hybrids.py` mixes the features of a monitored and a reference record and attributes the difference of their outcomes
by Shapley values (Shapley 1953; Lundberg and Lee, arXiv 1705.07874), `intervals.py` says how sure they are. Without one, `parts.py` divides
the difference by the cells of one feature: who applies, and how they are treated (Kitagawa 1955, Components of a difference between two
rates, Journal of the American Statistical Association 50, 1168-1194). `changes.py` says the same of a gap before and after a moment.
"""
