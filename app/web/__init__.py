"""What every route shares and that knows no caller."""
