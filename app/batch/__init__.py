"""Records that lie in files: record batches in the form of a check's window come out.

Knows no model.

`locations.py` says what may be read, `stored_form.py` gives columns the form in which Evenhand stores them, `payload_files.py`
and `feedback_files.py` read records and labels of a span, `answers.py` keeps the model's answers to copies next to them, and `flags.py`
the flagged records.
"""
