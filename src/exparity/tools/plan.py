"""Tool plan: what an experiment will take, before anything is submitted."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from exparity.config.cautions import cautions
from exparity.config.command_line import DEFAULT, read_experiment, read_overrides
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import ConfigFiles, Flag, Folder, Overrides
from exparity.costs.estimate import Estimator
from exparity.costs.finished import Finished, read_finished
from exparity.costs.forecast import at_trainings, forecast, hours, plain, plan_text
from exparity.costs.planned import (
    ExampleCounts,
    check_data,
    dag_jobs,
    planned_jobs,
    without_news_of_data,
)
from exparity.resources import workflow_file
from exparity.tools.detectable import (
    check_samples,
    planned_gaps,
    planned_numbers,
    planned_samples,
    rows_of,
    trainings_text,
    undecidable,
)

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

log = logging.getLogger(__name__)
_NAMED = 10


@without_news_of_data()
def plan(
    *,
    configfile: Annotated[ConfigFiles, Flag(bare=True)] = (DEFAULT,),
    config: Overrides = (),
    sources: Annotated[Sequence[Folder], Flag("from", "RESULTS")] = (),
    device: Literal["cpu", "cuda"] | None = None,
    data_dir: Folder | None = None,
    as_json: Annotated[bool, Flag("json")] = False,
) -> None:
    """Estimate what an experiment takes, from finished jobs, and what it can show.

    Args:
        configfile: the experiment.
        config: values over those of the config file.
        sources: folder of results of another run to learn from.
        device: where jobs that run a model are to run; by the config, or a GPU if any ran on one.
        data_dir: folder of raw files; the config's if None.
        as_json: print JSON instead of a table.

    Raises:
        InputError: a bad config, a sample too small for any test, or a folder that is not there.
    """
    experiment = read_experiment(configfile, config)
    for line in cautions(experiment):
        log.warning("%s", line)
    named = shlex.join([*map(str, configfile), *(["--config", *config] if config else [])])
    check_data(experiment)
    counts = ExampleCounts(experiment, data_dir)
    samples = planned_samples(experiment, counts)
    alpha = experiment.config["statistics"]["alpha"]
    check_samples(samples, alpha)
    planned = planned_gaps(experiment, samples)
    for line in undecidable(experiment, planned):
        log.warning("%s", line)
    results = Path(experiment.results)
    for folder in sources:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; name a folder of results with --from")
    known = [read_finished(f) for f in dict.fromkeys([results, *sources])]
    for line in [line for finished in known for line in finished.odd][:_NAMED]:
        log.warning("left out: %s", line)
    device = device or _device(experiment, known)
    estimator = Estimator((job for finished in known for job in finished.jobs), device)
    dag = dag_jobs(workflow_file("Snakefile"), *configfile, config=read_overrides(config))
    made = forecast(planned_jobs(dag, counts), estimator)
    now = [len(experiment.seeds) if len(job.ids) > 2 else 0 for job in dag]
    numbers = planned_numbers(experiment)
    taken = [at_trainings(made.costs, now, n) for n in numbers]
    tests, comparing = len([*experiment.tests()]), sum(job.stage == "compare" for job in dag)
    if as_json:
        about = {"config": named, "results": str(results), "device": device, "tests": tests}
        measured = {str(finished.folder): len(finished.jobs) for finished in known if finished.jobs}
        values = {**about, "sources": measured, **plain(made)}
        say(
            json.dumps({**values, "by_trainings": list(rows_of(planned, numbers, taken))}, indent=1)
        )
    else:
        say(plan_text(made, named, known, device))
        if tests:
            say(f"\n{tests:,} scores are tested, by {comparing:,} jobs of `compare` in all")
        unit = "+" if made.total.unknown else ""
        amounts = [(jobs, f"{hours(seconds)}{unit}") for jobs, seconds in taken]
        if not made.total.known:
            amounts = [(jobs, "unknown") for jobs, _ in taken]
        say(f"\n{trainings_text(experiment, planned, amounts)}")


def _device(experiment: Experiment, known: Sequence[Finished]) -> Literal["cpu", "cuda"]:
    """Return the kind of device to plan for."""
    configured = str(experiment.config["engine"]["device"]).partition(":")[0]
    if configured != "auto":
        return "cuda" if configured == "cuda" else "cpu"
    jobs = (job for finished in known for job in finished.jobs if job.kind.runs_model)
    return "cuda" if any(job.device.startswith("cuda") for job in jobs) else "cpu"
