"""Walks of the OpenScale SDK through a running Evenhand."""
