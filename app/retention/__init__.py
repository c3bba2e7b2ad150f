"""Erases records by age and on request for one person. Legal holds come first."""
