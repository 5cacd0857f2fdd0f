"""What each command does with its parsed arguments.

Modules are imported inside the command that needs them: a test job must not wait for torch.
"""

from __future__ import annotations

from exparity.arguments.flags import Run
from exparity.commands import analyses, stages, tools

COMMANDS: dict[str, Run] = {**stages.COMMANDS, **analyses.COMMANDS, **tools.COMMANDS}
