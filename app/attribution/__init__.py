"""Attribution of a gap between two groups to the features and cells that carry it; nothing here is causal.

Sources: Shapley 1953; Lundberg and Lee, arXiv 1705.07874; Kitagawa 1955, Components of a difference between two rates, Journal of the
American Statistical Association 50, 1168-1194.
"""
