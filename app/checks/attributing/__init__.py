"""Attribution of a window's gaps to features. `performing.py` is the story; nothing is stored before its end but the cost."""
