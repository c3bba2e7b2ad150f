"""Small tables of counts, written by a check; everything else reads these."""
