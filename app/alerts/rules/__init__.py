"""When an alert is opened."""
