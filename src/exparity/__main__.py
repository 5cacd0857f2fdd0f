"""The command ``exparity``, and ``python -m exparity``."""

import os


def run() -> None:
    """Do what the command line says, in a warm worker where the run has them."""
    address = os.environ.get("EXPARITY_WARM", "0")
    if address != "0":
        from exparity.warm.client import hand_over

        hand_over(address)
    from exparity.cli import run as run_here

    run_here()


if __name__ == "__main__":
    run()
