"""Tables that rules on selection ask for. Nothing here is legal advice."""
