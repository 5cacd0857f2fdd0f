"""Checks of models and data at the start of a run, which take seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from exparity.artefacts import layout
from exparity.config.experiment import Experiment
from exparity.core.errors import within
from exparity.core.flags import Flag
from exparity.core.strict import canonical
from exparity.core.validation import read_settings
from exparity.data import load_with_facts
from exparity.data.files import DataSource
from exparity.models.scratch import check_buildable
from exparity.models.spec import ModelSpec

Models = Mapping[str, Mapping[str, object]]
"""Settings of models, by the model's id."""
_READ_AT_START = 1 << 25
"""Bytes of the files of a dataset that is read whenever a run begins; larger ones take seconds."""


def check_models(*, models: Annotated[Models, Flag(hidden=True)]) -> None:
    """Check that models from scratch can be built, which imports torch.

    Args:
        models: settings of each model, by its id.

    Raises:
        InputError: a model cannot be built.
    """
    for model, settings in models.items():
        with within(f"models.{model}: "):
            check_buildable(read_settings(ModelSpec, settings, f"model {model}"))


def check_before_jobs(
    experiment: Experiment, is_buildable: Callable[[Models], bool] = lambda models: False
) -> None:
    """Check that models from scratch can be built, libraries' options, and small datasets at hand.

    These checks take seconds, and spare jobs that would fail. A dataset that is prepared already is
    left out.

    Args:
        experiment: the experiment.
        is_buildable: whether another process builds models; if it does not, they are tried here.
    """
    models = {
        model: settings.spec.all_values
        for model, settings in experiment.models.items()
        if settings.spec.init == "scratch"
        and settings.spec.architecture
        and not _is_trained(experiment, model)
    }
    if models and not is_buildable(models):
        check_models(models=models)
    _check_methods(experiment)
    source = DataSource(Path(experiment.config.data_dir), download=False)
    for dataset, instance in experiment.datasets.items():
        tables = map(Path, experiment.own_inputs("prepare", {"dataset": dataset}))
        files = [*tables, *(source.folder / file.path for file in instance.entry.facts.files)]
        prepared = Path(experiment.results, layout.path_of("data", {"dataset": dataset}))
        if prepared.is_file() or not all(file.is_file() for file in files):
            continue
        if instance.entry.facts.from_hub and not files:
            continue
        if sum(file.stat().st_size for file in files) <= _READ_AT_START:
            load_with_facts(instance.entry.id, source, instance.params, name=dataset)


def _check_methods(experiment: Experiment) -> None:
    """Check options of methods by the options that their library knows, overrides included."""
    checked: set[str] = set()
    for cell in experiment.cells("explanations"):
        method = experiment.methods[cell.method]
        check = method.entry.facts.check_options
        if check is None:
            continue
        params = experiment.explain_options(**cell)["params"]
        key = canonical({"method": method.id, "params": params})
        if key not in checked:
            checked.add(key)
            with within(f"methods.{method.id}: "):
                check(params)  # imports the library


def _is_trained(experiment: Experiment, model: str) -> bool:
    """Return whether every training of a model has predicted."""
    cells = (ids for ids in layout.cells(experiment.axes, "predictions") if ids.model == model)
    return all(
        Path(experiment.results, layout.path_of("predictions", ids)).is_file() for ids in cells
    )
