"""Documents for people: one check or a period as HTML and PDF. `check_report.py` and `period_report.py` show the whole path."""
