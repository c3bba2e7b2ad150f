"""Tables that rules on selection ask for."""
