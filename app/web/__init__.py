"""Parts of every route that know no caller."""
