"""Reasons for the state of a check or a deployment, with the next step."""
