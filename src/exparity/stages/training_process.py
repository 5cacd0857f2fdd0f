"""A training in several processes: the options and the code of each.

The processes write the snapshots of the training, and the stage goes on from the last one.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from exparity.core.device import gpus_for, make_repeatable
from exparity.core.plain import as_int, as_list, as_mapping, as_text
from exparity.core.registry import load_plugin, loaded_plugins
from exparity.counterfactuals import counterfactuals_of
from exparity.data.table import PreparedData, read_prepared
from exparity.data.training_set import TrainingSet
from exparity.debiasing import apply
from exparity.models.prompts import PromptSpec
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.team import (
    Command,
    Joined,
    Place,
    end_with_parent,
    failing,
    run_together,
)


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A training, by the names of its files and by plain values.

    Attributes:
        data: path of the data artefact.
        model: every setting of :class:`~exparity.models.spec.ModelSpec`.
        training: every setting of :class:`~exparity.models.spec.TrainingSpec`.
        seed: seed of initialisation, order and dropout.
        interventions: changes of the training data, as artefacts record them.
        prompt: every setting of :class:`~exparity.models.prompts.PromptSpec`; None without one.
        templates: templates that a prompted model is trained with.
        state: folder of the snapshots.
        fingerprint: what snapshots of this training are marked with.
        plugins: modules that register what the training works with, such as interventions.
        folders: where Python looks for modules.
    """

    data: str
    model: Mapping[str, object]
    training: Mapping[str, object]
    seed: int
    interventions: Mapping[str, object]
    prompt: Mapping[str, object] | None
    templates: Sequence[str]
    state: str
    fingerprint: str
    plugins: Sequence[str] = field(default_factory=loaded_plugins)
    folders: Sequence[str] = field(default_factory=lambda: [*sys.path])

    @classmethod
    def of(
        cls,
        data: Path,
        specs: tuple[ModelSpec, TrainingSpec],
        seed: int,
        interventions: Mapping[str, object],
        prompt: PromptSpec | None,
        templates: Sequence[str],
        snapshots: StateFolder,
    ) -> TrainingJob:
        """Return the job of checked settings."""
        return cls(
            data=str(data),
            model=specs[0].all_values,
            training=specs[1].all_values,
            seed=seed,
            interventions=interventions,
            prompt=None if prompt is None else prompt.all_values,
            templates=templates,
            state=str(snapshots.folder),
            fingerprint=snapshots.fingerprint,
        )

    @property
    def snapshots(self) -> StateFolder:
        """Snapshots of this training."""
        return StateFolder(Path(self.state), self.fingerprint)


def training_set_of(
    data: PreparedData, validation_share: float, seed: int, interventions: Mapping[str, object]
) -> TrainingSet:
    """Return the training set of a dataset after all interventions."""
    training_set = TrainingSet.of(data, validation_share, seed)
    if "counterfactuals" in interventions:
        generator = as_mapping(interventions["counterfactuals"])
        use = as_text(generator["use"])
        make = counterfactuals_of(data, use=use, params=as_mapping(generator["params"]))
        training_set = replace(training_set, counterfactuals=make)
    if not interventions:
        return training_set
    return apply(training_set, [as_mapping(call) for call in as_list(interventions["debias"])])


def train_together(job: TrainingJob, device: str, threads: int) -> None:
    """Run a training in as many processes as it says, each on its GPU or on the CPU.

    Args:
        job: the training.
        device: ``auto``, ``cpu`` or ``cuda``.
        threads: CPU threads of all processes together.

    Raises:
        InputError: there are fewer GPUs than processes, or a process refuses its input.
        ExparityError: a process has failed.
    """
    count = as_int(job.training["processes"])
    device = gpus_for(device, count)
    job.snapshots.load()  # discards what is of another training, before several processes read it
    with tempfile.TemporaryDirectory(prefix="exparity-") as folder:
        shared = Path(folder)
        reason = shared / "reason.json"
        (shared / "job.json").write_text(json.dumps(asdict(job)), encoding="utf-8")
        commands = []
        for index in range(count):
            place = Place(index, count, shared / "meeting", device)
            arguments = [*map(str, (index, count, device, max(1, threads // count), os.getpid()))]
            # -P: no module of the folder that the job runs in takes the place of one of ours.
            command = [sys.executable, "-P", "-m", __name__, str(shared), *arguments]
            # The first one speaks for all.
            messages = shared / f"messages-{index}.txt" if index else None
            commands.append(Command(command, place.environment(), messages))
        run_together(commands, reason)


def main(folder: str, index: str, count: str, device: str, threads: str, parent: str) -> None:
    """Run one process of a training, as :func:`train_together` starts it."""
    from exparity.models.training import finetune

    end_with_parent(int(parent))
    shared = Path(folder)
    place = Place(int(index), int(count), shared / "meeting", device)
    logging.basicConfig(level=logging.INFO if place.index == 0 else logging.WARNING)
    job = TrainingJob(**json.loads((shared / "job.json").read_text(encoding="utf-8")))
    with failing(shared / "reason.json"):
        # Last: no file there hides a module of ours.
        sys.path += [folder for folder in job.folders if folder not in sys.path]
        for plugin in job.plugins:
            load_plugin(plugin)
        make_repeatable(int(threads))
        training = TrainingSpec(**job.training)
        data = read_prepared(Path(job.data))
        finetune(
            training_set_of(data, training.validation_share, job.seed, job.interventions),
            ModelSpec(**job.model),
            training,
            state=job.snapshots,
            device="cpu" if device == "cpu" else f"cuda:{place.index}",
            prompt=None if job.prompt is None else PromptSpec(**job.prompt),
            templates=job.templates,
            team=Joined(place),
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
