"""Tool until-decided: trainings are added until cells have a verdict, or the budget is spent."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.config.checks import check_results
from exparity.config.command_line import DEFAULT, read_experiment
from exparity.config.trainings import write_trainings
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import ConfigFiles, Flag, Folder, Overrides
from exparity.jobs.stop import stoppable
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.verdicts import TEXTS_DOMINATE, VERDICTS
from exparity.tools.running import run_snakemake

log = logging.getLogger(__name__)
Row = Mapping[str, Any]
_SETTLED = {one.id for one in VERDICTS if one.settles}


def until_decided(
    *,
    configfile: Annotated[ConfigFiles, Flag(bare=True)] = (DEFAULT,),
    config: Overrides = (),
    cores: Annotated[str, Flag(metavar="N")] | None = None,
    profile: Folder | None = None,
) -> None:
    """Run an experiment, and add trainings until its cells are decided.

    The config says ``seeds: {until: decided}``. Every dataset begins with the trainings of the
    first look. As long as a cell of it is neither *equivalent*, *different* nor *unstable*, all of
    its models get the trainings of the next look, up to the last one. Of a cell the excess over
    random explanations counts, where there is one. A verdict that was made stands. The same command
    goes on after a kill.

    Args:
        configfile: the experiment.
        config: values over those of the config file.
        cores: CPU cores; all, or what the profile says, if None.
        profile: profile of Snakemake, such as ``profiles/slurm``.

    Raises:
        InputError: a bad config, fixed seeds, or nothing to judge.
        ExparityError: a job failed.
    """
    flags = ["--configfile", *map(str, configfile)]
    flags += ["--config", *config] if config else []
    flags += ["--profile", str(profile)] if profile else []
    flags += ["--cores", cores or "all"] if cores or not profile else []
    start = time.monotonic()
    with stoppable():
        while True:
            experiment = read_experiment(configfile, config)
            if not experiment.looks:
                raise InputError("seeds: are fixed; write seeds: {until: decided}")
            if not experiment.analyses.targets("judge"):
                raise InputError("methods: nothing is compared between groups, or decided")
            check_results(experiment)
            results, trainings = Path(experiment.results), experiment.trainings
            verdicts = results / layout.path_of("verdicts", {})
            run_snakemake(results, *flags, "--", str(verdicts))
            by_dataset = compared(read_artefact(verdicts, "verdicts")[0].to_pylist())
            more = next_trainings(by_dataset, trainings, experiment.looks)
            seconds = time.monotonic() - start
            for dataset, rows in by_dataset.items():
                then = f"; {more[dataset]} next" if dataset in more else ""
                n_seeds = trainings[dataset]
                log.info("%s, %d trainings: %s%s", dataset, n_seeds, in_words(rows), then)
            log.info("%.0f seconds", seconds)
            if not more:
                break
            write_trainings(results, more)
        run_snakemake(results, *flags)
    for dataset, rows in by_dataset.items():
        say(f"{dataset}, {trainings[dataset]} trainings: {in_words(rows)}")


def compared(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of the verdicts artefact that are to be decided, by dataset.

    These are those of the excess over random explanations, and of the scores of cells without one.
    """
    cells: dict[tuple[Any, ...], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        cells[tuple(row[id] for id in CELL_IDS)][row["quantity"]] = row
    by_dataset: dict[str, list[Row]] = defaultdict(list)
    for by_quantity in cells.values():
        if rows_of := [by_quantity[q] for q in ("excess", "score") if q in by_quantity]:
            by_dataset[rows_of[0]["dataset"]].append(rows_of[0])
    return dict(by_dataset)


def next_trainings(
    by_dataset: Mapping[str, Sequence[Row]], trainings: Mapping[str, int], looks: Sequence[int]
) -> dict[str, int]:
    """Return how many trainings the datasets get that need more and that have not the last look."""
    more = {}
    for dataset, rows in by_dataset.items():
        later = [look for look in looks if look > trainings[dataset]]
        if later and any(map(_is_open, rows)):
            more[dataset] = later[0]
    return more


def _is_open(row: Row) -> bool:
    """Return whether a cell needs more trainings: also where no classifier works so far."""
    return row["verdict"] not in _SETTLED if row["verdict"] else not row["n_seeds"]


def in_words(rows: Sequence[Row]) -> str:
    """Return how many cells have which verdict, and of how many more trainings decide nothing."""
    counts = Counter(row["verdict"] for row in rows)
    words = [f"{counts[one.id]} {one.id}" for one in VERDICTS if counts[one.id]]
    words += [f"{counts[None]} that cannot be tested"] if counts[None] else []
    decided = sum(row["verdict"] in _SETTLED for row in rows)
    text = f"{decided} of {len(rows)} cells are decided ({', '.join(words)})"
    of_texts = sum(_is_open(row) and row["text_share"] > TEXTS_DOMINATE for row in rows)
    return f"{text}; {of_texts} need texts, not trainings" if of_texts else text
