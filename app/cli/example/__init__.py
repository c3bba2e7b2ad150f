"""The worked example: a credit-risk model, its traffic, and Evenhand's results.

It is a client of the service and asks its model by HTTP only.
"""
