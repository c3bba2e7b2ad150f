"""Evidence over time: counted hours, and the states that rest on them."""
