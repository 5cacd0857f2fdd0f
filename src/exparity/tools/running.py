"""Running the workflow for a tool, in a process of its own, on a config that the tool wrote."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from exparity.artefacts.files import atomic_path
from exparity.core.errors import ExparityError
from exparity.core.escaping import visible
from exparity.core.progress import Progress
from exparity.resources import workflow_file

log = logging.getLogger(__name__)
_STEPS = re.compile(r"([\d,]+) of ([\d,]+) steps ")
_MOST = 40
"""Lines of a log that are printed where a run fails."""


def write_config(config: Mapping[str, Any], path: Path, header: str) -> None:
    """Write a config."""
    import yaml

    comment = "".join(f"# {visible(line)}\n" for line in header.splitlines())
    body = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
    with atomic_path(path) as temporary:
        temporary.write_text(comment + body, encoding="utf-8")


def run_workflow(configfile: Path, cores: str, *, dry_run: bool = False) -> None:
    """Run the workflow here, on a config in its results folder; progress goes to standard error."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(workflow_file("Snakefile"))]
    command += ["--quiet", "rules", "--configfile", str(configfile), "--cores", cores]
    if dry_run:
        # Its output is no answer of the tool, and goes to standard error as well.
        if subprocess.run([*command, "--dry-run"], stdout=2, check=False).returncode:
            raise ExparityError("the dry run failed; see above")
        return
    path = configfile.parent / "logs" / "snakemake.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    log.info("running; all that Snakemake says goes to %s", visible(path))
    with path.open("w", encoding="utf-8") as file:
        failed = _logged(command, file)
    if failed:
        print(visible("".join(_end_of(path)), keep="\n\t"), file=sys.stderr)
        raise ExparityError(f"the run failed; see above and {path}")


def _logged(command: Sequence[str], file: TextIO) -> int:
    """Run a command with its output in a file, tell progress, and return its exit status."""
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with (
        Progress(None, "running", "jobs") as progress,
        subprocess.Popen(command, **streams, text=True, errors="replace") as process,
    ):
        try:
            for line in process.stdout or ():
                file.write(line)
                file.flush()
                if steps := _STEPS.match(line):
                    done, total = (int(number.replace(",", "")) for number in steps.groups())
                    progress.expect(total)
                    progress.advance(done - progress.done)
                elif line.startswith("exparity: ") and not progress.done:
                    print(visible(line.rstrip()), file=sys.stderr)
        except BaseException:
            process.terminate()
            raise
    return process.returncode


def _end_of(path: Path) -> list[str]:
    """Return what a log says from the first error on, or its last lines; at most :data:`_MOST`."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if "rror" in line), len(lines) - _MOST)
    return lines[max(0, first) :][:_MOST]
