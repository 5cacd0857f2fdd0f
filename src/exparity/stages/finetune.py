"""Stage finetune: data artefact to checkpoint, history and predictions."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from exparity.artefacts.files import write_artefact
from exparity.artefacts.layout import PATHS
from exparity.artefacts.lineage import MANIFEST, current_lineage
from exparity.core.digest import source_digest
from exparity.core.flags import Device, Digest, Flag, Id, Output, Seed, TokenBudget
from exparity.counterfactuals import GENERATORS, counterfactuals_of
from exparity.data.files import sha256_of
from exparity.data.table import PreparedData, read_prepared
from exparity.data.training_set import TrainingSet
from exparity.debiasing import apply, sources
from exparity.jobs.locks import job_lock
from exparity.models.manifest import DamageError, read_verified, saving, sync, write_manifest
from exparity.models.snapshots import Snapshot, StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec, build
from exparity.stages._launch import is_launched, launch

log = logging.getLogger(__name__)


def finetune_cell(
    data: Path,
    output: Output,
    predictions: Output,
    *,
    model: Mapping[str, Any],
    training: Mapping[str, Any],
    model_id: Id | None = None,
    seed: Seed = 0,
    debias: Annotated[Sequence[Mapping[str, Any]], Flag(hidden=True)] = (),
    counterfactuals: Annotated[Mapping[str, Any], Flag(hidden=True)] = MappingProxyType({}),
    digest: Digest = "",
    device: Device = "auto",
    threads: int | None = None,
    token_budget: TokenBudget = None,
) -> None:
    """Fine-tune a classifier, save it, and predict the test split with it.

    Unfinished work lies in ``<output>.state`` and is continued by the next call with the same
    data, parameters and code.

    Args:
        data: the data artefact.
        output: folder of the checkpoint to write.
        predictions: the predictions artefact to write.
        model: entry of the config's model block, see :class:`~exparity.models.spec.ModelSpec`.
        training: entry of the config's training block, see
            :class:`~exparity.models.spec.TrainingSpec`.
        model_id: name of the model; by the folder of ``output`` if None.
        seed: seed of initialisation, order and dropout.
        debias: interventions in what is trained on, in order: ``use`` and ``params`` of each.
        counterfactuals: ``use`` and ``params`` of the generator that interventions may ask.
        digest: digest of the code that trains.
        device: ``auto``, ``cpu`` or ``cuda:N``.
        threads: CPU threads of one operation; torch's choice if None.
        token_budget: padded tokens per batch of the predictions; by device if None.

    Raises:
        InputError: bad data, model or training.
    """
    from exparity.core.device import make_repeatable, resolve_device
    from exparity.models.checkpoints import quiet_transformers
    from exparity.models.training import finetune

    start = time.monotonic()
    model_id = model_id or output.parent.name
    model_spec = build(ModelSpec, model, f"model {model_id}")
    training_spec = build(TrainingSpec, training, "training")
    if training_spec.processes > 1 and not is_launched():
        launch(training_spec.processes)
        return
    make_repeatable(threads)
    prepared = read_prepared(data)
    ids: dict[str, str | int] = {"dataset": prepared.dataset, "model": model_id, "seed": seed}
    interventions = _interventions(debias, counterfactuals)
    parameters = {"model": asdict(model_spec), "training": asdict(training_spec), **interventions}
    key = [sha256_of(data), parameters, seed, digest, *_digests(interventions)]
    fingerprint = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    state = output.with_name(f"{output.name}.state")
    if _finished(output, predictions, fingerprint):
        return
    training_set = TrainingSet.of(prepared, training_spec.validation_share, seed)
    training_set = _debiased(training_set, prepared, interventions)
    train = partial(finetune, training_set, model_spec, training_spec, device=device)
    if _rank() > 0:
        train(state=StateFolder(state, fingerprint))
        return
    with job_lock(output.with_name(f".{output.name}.lock")):
        if _finished(output, predictions, fingerprint):
            log.info("%s: finished by another job meanwhile", output)
            return
        snapshots = _TimedFolder(state, fingerprint)
        trained = train(state=snapshots)
        temporary = output.with_name(f".{output.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        with quiet_transformers(), saving(output):
            trained.model.save_pretrained(temporary)
            trained.tokenizer.save_pretrained(temporary)
        write = partial(write_artefact, ids=ids, stage="finetune", parameters=parameters)
        used: dict[str, Any] = {
            "device": str(resolve_device(device)),
            "seconds": time.monotonic() - start,
        }
        records = [asdict(record) for record in trained.history]
        spent = {
            "work_seconds": round(sum(record.seconds for record in trained.history), 3),
            "earlier_seconds": round(snapshots.earlier_seconds, 3),
        }
        write(temporary / _name("history"), "history", records, **used, extra=spent)
        write(temporary / _name("training_set"), "training_set", training_set.rows())
        manifest = {
            **ids,
            "fingerprint": fingerprint,
            "version": version("exparity"),
            "lineage": current_lineage(),
        }
        write_manifest(temporary / MANIFEST, manifest)
        predict(temporary, prepared, predictions, ids, parameters, device, token_budget)
        shutil.rmtree(output, ignore_errors=True)
        temporary.replace(output)
        sync(output.parent)
        shutil.rmtree(state, ignore_errors=True)


def _name(artefact: str) -> str:
    """Return the name of an artefact's file in the folder of the checkpoint."""
    return PATHS[artefact].rpartition("/")[2]


def _interventions(
    debias: Sequence[Mapping[str, Any]], counterfactuals: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what artefacts say of the interventions in a training: nothing where there is none."""
    if not debias:
        return {}
    used = {key: _call(counterfactuals) for key in ["counterfactuals"] if counterfactuals}
    return {"debias": [_call(one) for one in debias], **used}


def _call(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"use": settings["use"], "params": dict(settings.get("params", {}))}


def _digests(interventions: Mapping[str, Any]) -> list[str]:
    """Return the digest of the code that intervenes; none where nothing does."""
    if not interventions:
        return []
    files, read = sources(interventions["debias"]), []
    if "counterfactuals" in interventions:
        call = interventions["counterfactuals"]
        generator = GENERATORS.get(call["use"])
        files.append(generator.source)
        read = generator.input_files(call["params"], "counterfactuals")
    return [source_digest(*files), *map(sha256_of, read)]


def _debiased(
    training_set: TrainingSet, data: PreparedData, interventions: Mapping[str, Any]
) -> TrainingSet:
    if not interventions:
        return training_set
    if "counterfactuals" in interventions:
        make = counterfactuals_of(data, **interventions["counterfactuals"])
        training_set = replace(training_set, counterfactuals=make)
    return apply(training_set, interventions["debias"])


class _TimedFolder(StateFolder):
    """Snapshots that tell what the epochs took which an interrupted job has left."""

    earlier_seconds = 0.0

    def load(self) -> Snapshot | None:
        snapshot = super().load()
        if snapshot is not None:
            self.earlier_seconds = sum(epoch["seconds"] for epoch in snapshot.facts["history"])
        return snapshot


def _rank() -> int:
    """Return this process's place among those that train one model; 0 for a single one."""
    import os

    return int(os.environ.get("RANK", "0"))


def _finished(output: Path, predictions: Path, fingerprint: str) -> bool:
    if not (output / MANIFEST).is_file() or not predictions.is_file():
        return False
    try:
        return bool(read_verified(output / MANIFEST).get("fingerprint") == fingerprint)
    except DamageError as error:
        log.warning("%s: %s; made again", output, error)
        return False


def predict(
    checkpoint: Path,
    data: PreparedData,
    output: Path,
    ids: Mapping[str, str | int],
    parameters: Mapping[str, Any],
    device: str,
    token_budget: int | None,
) -> None:
    """Predict the test split with a saved checkpoint and write the predictions artefact."""
    from exparity.engine import load_classifier

    start = time.monotonic()
    examples = data.split("test")
    classifier = load_classifier(str(checkpoint), device, token_budget=token_budget)
    encodings = classifier.encode([e.words for e in examples])
    probabilities = classifier.probabilities([e.token_ids for e in encodings])
    predicted = probabilities.argmax(-1)
    labels = np.array([e.label for e in examples])
    log.info("test accuracy %.4f on %d examples", (predicted == labels).mean(), len(examples))
    counts = np.bincount(predicted, minlength=classifier.n_classes)
    if (counts > 0).sum() == 1:
        log.warning("the classifier predicts class %d for every test example", counts.argmax())
    rows = [
        {
            "example_id": e.example_id,
            "group": e.group,
            "match_id": e.match_id,
            "label": e.label,
            "probabilities": probabilities[i].tolist(),
            "predicted": int(predicted[i]),
        }
        for i, e in enumerate(examples)
    ]
    write_artefact(
        output,
        "predictions",
        rows,
        ids,
        stage="finetune",
        parameters=parameters,
        device=str(classifier.device),
        seconds=time.monotonic() - start,
    )
