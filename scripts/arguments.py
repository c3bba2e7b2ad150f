"""Command lines of benchmarks, trials and simulations."""

import argparse


def make_parser(text: str | None) -> argparse.ArgumentParser:
    """Returns a parser whose help shows the text, a module's docstring, in its own lines."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
