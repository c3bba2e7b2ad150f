"""Records that lie in files: Parquet in, record batches in the form of a check's window out. Knows no database and no model.

`locations.py` says which files may be read, `stored_form.py` gives columns the form in which Evenhand stores them, `payload_files.py`
and `feedback_files.py` read records and labels of a span, `answers.py` keeps the model's answers to copies next to them, and `flags.py`
the flagged records.
"""
