"""Settings, errors, the clock, texts, files: nothing of fairness."""
