"""What knows nothing of fairness: settings, errors, the clock, texts, files."""
