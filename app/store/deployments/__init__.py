"""Deployments, their endpoints and their monitors."""
