"""Jobs that wait where a test wants to meet them, so that no test depends on who is faster."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support import wait_until

from workflow import forked

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Held:
    """Processes that wait before they rename something to a certain path, until they are released.

    Attributes:
        place: how that path ends.
        folder: a folder that is there until then.
        after: how many files with that end must lie in the same folder.
    """

    place: str
    folder: Path
    after: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """What such a process needs in its environment, beside ``HERE`` on its path."""
        after = {"HELD_AFTER": str(self.after)} if self.after else {}
        return {"HELD_AT": self.place, "HELD_WHILE": str(self.folder), **after}

    def wait(self, run: forked.Run | subprocess.Popen, seconds: float = 900) -> None:
        """Wait until a process waits; the run that is to start it must not end before."""
        waits = (self.folder / "waits").exists
        wait_until(lambda: waits() or run.poll() is not None, seconds, "nothing waited")
        assert waits(), "the run ended, and nothing waited"

    def release(self) -> None:
        """Let them go on, and all that come."""
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def held(place: str) -> Iterator[Held]:
    """Hold what is started in this block before it renames something to a path that ends so."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Held(place, Path(folder, "held"))
        made.folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in made.environment.items():
                patch.setenv(name, value)
            patch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
            try:
                yield made
            finally:
                made.release()
