"""Running the workflow for a tool, in a process of its own, on a config that the tool wrote."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.artefacts.files import atomic_path
from exparity.core.errors import ExparityError
from exparity.core.escaping import visible
from exparity.resources import workflow_file


def write_config(config: Mapping[str, Any], path: Path, header: str) -> None:
    """Write a config.

    Args:
        config: what it says.
        path: the file.
        header: comment lines above it, without their marks.
    """
    import yaml

    comment = "".join(f"# {visible(line)}\n" for line in header.splitlines())
    body = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
    with atomic_path(path) as temporary:
        temporary.write_text(comment + body, encoding="utf-8")


def run_workflow(configfile: Path, cores: str, *flags: str) -> None:
    """Run the workflow here, on this machine.

    Args:
        configfile: the config.
        cores: CPU cores, a number or ``all``.
        flags: further ones of Snakemake.

    Raises:
        ExparityError: it failed.
    """
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(workflow_file("Snakefile"))]
    command += ["--configfile", str(configfile), "--cores", cores, "--quiet", "rules", *flags]
    # What Snakemake prints is nothing that the tool answers: it goes to standard error.
    if subprocess.run(command, stdout=2, check=False).returncode:
        raise ExparityError(f"the run failed; see above and {configfile.parent}/logs")
