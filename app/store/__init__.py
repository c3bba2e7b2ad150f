"""Answers named questions about what is stored; holds no rules of the product."""
