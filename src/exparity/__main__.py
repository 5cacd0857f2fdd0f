"""``python -m exparity``."""

from exparity.cli import run

if __name__ == "__main__":
    run()
