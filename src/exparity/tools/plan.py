"""Stage plan: what an experiment will cost, before anything is submitted."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from exparity.artefacts.files import atomic_path
from exparity.core.errors import ExparityError, InputError
from exparity.core.escaping import say, visible
from exparity.core.flags import Flag, Folder
from exparity.costs.estimate import Estimator
from exparity.costs.examples import ExampleCounts
from exparity.costs.finished import Finished, read_finished
from exparity.costs.plan import as_json, make_plan
from exparity.costs.planned import planned_jobs
from exparity.costs.probe import FOLDER, probe_config
from exparity.costs.text import text
from exparity.interface import Range
from exparity.tools.data import read_experiment

if TYPE_CHECKING:
    from exparity.config import Experiment

log = logging.getLogger(__name__)
_NAMED = 10


@dataclass(frozen=True)
class Request:
    """What to plan, and from what.

    Attributes:
        config: the config file of the experiment.
        sources: folders of results, beside those of the experiment and of its probe.
        device: ``cpu`` or ``cuda``, where jobs that run a model are to run; if None, that of the
            config, and for ``auto`` a GPU if anything has been measured on one.
        data_dir: folder of raw files; that of the config if None.
    """

    config: Path
    sources: Sequence[Path] = ()
    device: str | None = None
    data_dir: Path | None = None


def plan(
    *,
    configfile: Annotated[Path, Flag(metavar="FILE")] = Path("config/config.yaml"),
    sources: Annotated[Sequence[Folder], Flag("from", "RESULTS")] = (),
    measure: bool = False,
    write_probe: Annotated[Path, Flag(metavar="FILE")] | None = None,
    examples: Annotated[int, Range(at_least=2)] = 20,
    cores: Annotated[str, Flag(metavar="N")] = "all",
    device: Literal["cpu", "cuda"] | None = None,
    data_dir: Folder | None = None,
    as_json: Annotated[bool, Flag("json")] = False,
) -> None:
    """Estimate what an experiment takes, from finished jobs.

    Args:
        configfile: the experiment.
        sources: folder of results of another run to learn from.
        measure: first run a small part of the experiment here: one seed, an epoch, few examples.
        write_probe: write the config of that small run, to run it elsewhere, and plan nothing.
        examples: examples of that run for a method or metric of many model passes.
        cores: CPU cores for that run.
        device: where jobs that run a model are to run; by the config, or a GPU if any ran on one.
        data_dir: folder of raw files; the config's if None.
        as_json: print JSON instead of a table.

    Raises:
        InputError: a bad config, or a folder that is not there.
        ExparityError: the small run failed.
    """
    # What is odd in the data is for the job to say that prepares them.
    logging.getLogger("exparity.data").setLevel(logging.ERROR)
    request = Request(configfile, sources, device, data_dir)
    if write_probe:
        folder = make_probe(request, examples, write_probe)
        say(f"snakemake --configfile {write_probe}")
        say(f"exparity plan --configfile {configfile} --from {folder}")
        return
    if measure:
        run_probe(request, examples, cores)
    print_plan(request, plain=as_json)


def print_plan(request: Request, *, plain: bool = False) -> None:
    """Print what an experiment costs.

    Args:
        request: what to plan.
        plain: print JSON instead of a table.

    Raises:
        InputError: a bad config, or a folder that is not there.
    """
    experiment = read_experiment(request.config)
    results = Path(experiment.results)
    for folder in request.sources:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; name a folder of results with --from")
    folders = dict.fromkeys([results, results / FOLDER, *request.sources])
    known = [read_finished(folder) for folder in folders]
    for line in [line for found in known for line in found.odd][:_NAMED]:
        log.warning("left out: %s", line)
    device = request.device or _device(experiment, known)
    estimator = Estimator((job for found in known for job in found.jobs), device)
    counts = ExampleCounts(experiment, request.data_dir)
    made = make_plan(planned_jobs(experiment, counts), estimator)
    if plain:
        sources = {str(found.folder): len(found.jobs) for found in known if found.jobs}
        about = {"config": str(request.config), "results": str(results), "device": device}
        say(json.dumps({**about, "sources": sources, **as_json(made)}, indent=1))
    else:
        say(text(made, request.config, known, device))


def make_probe(request: Request, examples: int, output: Path) -> str:
    """Write the config of a small run that measures an experiment.

    Args:
        request: the experiment.
        examples: see :func:`~exparity.costs.probe.probe_config`.
        output: the config file to write.

    Returns:
        The folder that its results will be in.

    Raises:
        InputError: a bad config.
    """
    import yaml

    experiment = read_experiment(request.config)
    config = probe_config(experiment, ExampleCounts(experiment, request.data_dir), examples)
    if request.data_dir is not None:
        config["data_dir"] = str(request.data_dir)
    with atomic_path(output) as temporary:
        header = f"# Measures the costs of {visible(request.config)}; made by `exparity plan`.\n"
        body = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
        temporary.write_text(header + body, encoding="utf-8")
    return str(config["results"])


def run_probe(request: Request, examples: int, cores: str) -> None:
    """Run the probe of an experiment on this machine through Snakemake.

    Its results stay, so that a second call has only to do what has changed.

    Args:
        request: the experiment.
        examples: see :func:`~exparity.costs.probe.probe_config`.
        cores: CPU cores that jobs may use together, or ``all``.

    Raises:
        InputError: a bad config, or no workflow here.
        ExparityError: the run failed.
    """
    experiment = read_experiment(request.config)
    output = Path(experiment.results, FOLDER, "config.yaml")
    make_probe(request, examples, output)
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(_snakefile()),
        "--configfile", str(output), "--cores", cores, "--quiet", "rules",
    ]  # fmt: skip
    # What Snakemake prints is no part of the plan: it goes to standard error.
    if subprocess.run(command, stdout=2, check=False).returncode:
        raise ExparityError(f"the measuring run failed; see above and {output.parent}/logs")


def _snakefile() -> Path:
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / "Snakefile").is_file():
            return folder / "Snakefile"
    raise InputError("no Snakefile here; run from a checkout of exparity")


def _device(experiment: Experiment, known: Sequence[Finished]) -> str:
    """Return the kind of device to plan for."""
    configured = str(experiment.config["engine"]["device"]).partition(":")[0]
    if configured != "auto":
        return configured
    seen = {job.device for found in known for job in found.jobs if job.kind.runs_model}
    return "cuda" if any(device.startswith("cuda") for device in seen) else "cpu"
