"""The watched models: columns, endpoints, monitors, training data."""
