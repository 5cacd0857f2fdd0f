"""``python -m exparity``."""

import sys

from exparity.cli import main

sys.exit(main())
