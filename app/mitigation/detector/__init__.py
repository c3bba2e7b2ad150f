"""The bias detector: its training, its versions and its uses."""
