"""What a type checker knows of the public names: `make types` fails where a misspelt one passes.

An ignored error that mypy does not find is an error of its own.
"""

import exparity

KNOWN = (exparity.explain, exparity.Benchmark)
MISSPELT = exparity.explan  # type: ignore[attr-defined]
