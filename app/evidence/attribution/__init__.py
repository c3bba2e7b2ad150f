"""Attribution of a gap to features, by asking the model or by cells. Nothing here is causal."""
