"""Which features drive a gap, by asking the model or by cells. Nothing here is causal."""
