"""One command as several processes that train one model together."""

from __future__ import annotations

import os
import subprocess
import sys

from exparity.core.errors import ExparityError

_LAUNCHED = "EXPARITY_LAUNCHED"


def is_launched() -> bool:
    """Tell whether this process is one of several, which accelerate tells by their rank.

    Raises:
        ExparityError: it was started as one of them, and has no rank.
    """
    if "LOCAL_RANK" in os.environ:
        return True
    if _LAUNCHED in os.environ:
        # Should a launcher not tell a process its place, it must not launch others in turn.
        raise ExparityError("a training process was started without a rank")
    return False


def launch(processes: int) -> None:
    """Run this same command in several processes.

    Raises:
        ExparityError: one failed.
    """
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    count = ["--nproc-per-node", str(processes)]
    command = [*launcher, *count, "-m", "exparity", *sys.argv[1:]]
    environment = {**os.environ, _LAUNCHED: "1"}
    if subprocess.run(command, env=environment, check=False).returncode:
        raise ExparityError(f"training with {processes} processes failed; see above")
