"""Fine-tuning: AdamW, a linear schedule with warm-up, resumable by epoch.

Epoch order and dropout depend on (seed, epoch) alone, so that a training continued from a snapshot
ends with the same weights as one that was never interrupted.
"""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader

from exparity.artefacts.columns import records
from exparity.core.device import is_out_of_memory, require_bf16, resolve_device
from exparity.core.errors import ExparityError, InputError
from exparity.core.progress import Progress
from exparity.core.seeding import derive_seed, generator
from exparity.models.schemes import training_mode
from exparity.models.snapshots import Snapshot, StateFolder
from exparity.models.spec import TrainingSpec
from exparity.models.team import Alone, Team

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast
    from transformers.modeling_outputs import SequenceClassifierOutput

log = logging.getLogger(__name__)


class Item(NamedTuple):
    """One example as the loop trains on it."""

    token_ids: list[int]
    label: int
    weight: float = 1.0
    token_types: list[int] | None = None


class _Batch(NamedTuple):
    """Rows that a step trains on: what the model takes, and classes and weights of examples."""

    inputs: dict[str, torch.Tensor]
    labels: torch.Tensor
    weights: torch.Tensor

    @property
    def n_rows(self) -> int:
        return len(self.labels)

    def part(self, rows: slice) -> _Batch:
        """Return some rows of it."""
        inputs = {name: value[rows] for name, value in self.inputs.items()}
        return _Batch(inputs, self.labels[rows], self.weights[rows])


@dataclass(frozen=True)
class _State:
    """What a training continues with, beside weights and moments, as plain values.

    Attributes:
        epoch: epochs that are finished.
        history: their records.
        scaler: state of the scaler of losses.
        threads: that torch computes with.
        most_tokens: tokens of a batch that fit into memory at once; None if all did.
    """

    epoch: int
    history: list[dict[str, Any]]
    scaler: dict[str, object]
    threads: int
    most_tokens: int | None


@dataclass(frozen=True)
class EpochRecord:
    """One row of the training history; losses in nats, NaN where nothing was held out."""

    epoch: int
    step: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


def linear_schedule(step: int, total: int, warmup: int) -> float:
    """Return the factor on the peak learning rate: up over the warm-up, then down to 0."""
    if step < warmup:
        return step / max(1, warmup)
    return max(0.0, (total - step) / max(1, total - warmup))


def _order(size: int, per_epoch: int, seed: int, epoch: int) -> list[int]:
    """Return the examples of an epoch in order; they repeat if it takes more than there are."""
    draws = generator(seed, "finetune", "order", epoch)
    rounds = math.ceil(per_epoch / size)
    order = [int(place) for _ in range(rounds) for place in draws.permutation(size)]
    return order[:per_epoch]


class TrainingLoop:
    """One training: the loop, and its state between epochs."""

    def __init__(
        self,
        model: torch.nn.Module,
        tokenizer: PreTrainedTokenizerFast,
        training: TrainingSpec,
        seed: int,
        state: StateFolder,
        device: str,
        team: Team | None = None,
        forward: Callable[..., SequenceClassifierOutput] | None = None,
    ) -> None:
        self.team = team or Alone()
        # From inputs and labels to the loss and the logits.
        self.forward: Callable[..., SequenceClassifierOutput] = forward or model
        self.device = resolve_device(device)
        if training.precision == "fp16" and self.device.type != "cuda":
            raise InputError("training.precision fp16 needs a GPU; use bf16 or fp32")
        if training.precision == "bf16":
            require_bf16(self.device, "training.precision")
        # Without fp16 the scaler passes everything through.
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=training.precision == "fp16")
        self.pad_id = tokenizer.pad_token_id or 0  # which the mask tells from text
        self.training, self.seed, self.state = training, seed, state
        self.model = model.to(self.device)
        # Listed once, since to walk through the modules takes a twentieth of a small model's step.
        self.trained = [p for p in model.parameters() if p.requires_grad]
        groups: list[dict[str, object]] = [
            {"params": [p for p in self.trained if p.ndim >= 2]},
            {"params": [p for p in self.trained if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(
            groups, lr=training.learning_rate, weight_decay=training.weight_decay, fused=True
        )
        self.best: Mapping[str, torch.Tensor] = {}
        self.weighted = False
        # Whether the loss of a batch is the mean of its examples'.
        self.divisible = getattr(model, "divisible", True)
        self.most_tokens: int | None = None  # padded, that fit into memory at once

    def fit(
        self, items: list[Item], held_out: list[Item], per_epoch: int | None = None
    ) -> list[EpochRecord]:
        """Train to the last epoch, or until validation stops improving."""
        self.weighted = any(item.weight != 1 for item in items)
        per_epoch = len(items) if per_epoch is None else per_epoch
        steps = math.ceil(per_epoch / self.training.batch_size)
        total = self.training.epochs * steps
        warmup = self.training.warmup_steps
        warmup = round(self.training.warmup_share * total) if warmup is None else warmup

        def rate_at(step: int) -> float:
            return self.training.learning_rate * linear_schedule(step, total, warmup)

        history = self._resume()
        with Progress(total, "fine-tuning", "steps") as progress:
            progress.advance(len(history) * steps)
            for epoch in range(len(history), self.training.epochs):
                losses = [record.validation_loss for record in history]
                since_best = len(losses) - 1 - losses.index(min(losses)) if losses else 0
                if self.training.patience is not None and since_best >= self.training.patience:
                    log.info("no better validation loss for %s epochs", self.training.patience)
                    break
                batches: DataLoader[Item] = DataLoader(
                    items,  # type: ignore[arg-type]
                    batch_size=self.training.batch_size,
                    sampler=_order(len(items), per_epoch, self.seed, epoch),
                    collate_fn=self._collate,
                )
                record = self._epoch(epoch, batches, held_out, rate_at, progress)
                history.append(record)
                scores = f"loss {record.train_loss:.4f}, accuracy {record.train_accuracy:.3f}"
                log.info("epoch %d of %d: training %s", epoch + 1, self.training.epochs, scores)
                self._keep(history)
        return history

    def _epoch(
        self,
        epoch: int,
        batches: DataLoader[Item],
        held_out: list[Item],
        rate_at: Callable[[int], float],
        progress: Progress,
    ) -> EpochRecord:
        start = time.monotonic()
        # Each process draws for its own rows.
        torch.manual_seed(derive_seed(self.seed, "finetune", "dropout", epoch, self.team.index))
        training_mode(self.model)
        step = epoch * len(batches)
        loss_sum = 0.0
        correct = 0
        seen = 0
        rate = 0.0
        for batch in batches:
            rate = rate_at(step)
            loss, hits = self._step(batch, rate)
            self._require_finite(loss, epoch, step, rate)
            size = batch.n_rows
            loss_sum += loss * size
            correct += hits
            seen += size
            step += 1
            progress.advance()
        # The last step of all has no loss after it.
        weights = sum(float(p.detach().double().sum()) for p in self.model.parameters())
        self._require_finite(weights, epoch, step - 1, rate)
        validation_loss, validation_accuracy = self._validate(held_out)
        if held_out:
            self._require_finite(validation_loss, epoch, step - 1, rate)
        return EpochRecord(
            epoch=epoch + 1,
            step=step,
            learning_rate=rate,
            train_loss=loss_sum / seen,
            train_accuracy=correct / seen,
            validation_loss=validation_loss,
            validation_accuracy=validation_accuracy,
            seconds=time.monotonic() - start,
        )

    def _step(self, batch: _Batch, rate: float) -> tuple[float, int]:
        """Take one optimiser step; return the loss and the number of hits before it."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        result = self._run(batch)
        self.scaler.unscale_(self.optimizer)
        clip_grad_norm_(self.trained, self.training.max_grad_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return result

    def _loss(self, part: _Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean loss of examples, and the number of correct predictions."""
        precision = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.training.precision)
        with torch.autocast(self.device.type, precision, enabled=precision is not None):
            output = self.forward(**part.inputs, labels=part.labels)
        loss = output.loss
        logits = output.logits
        assert loss is not None
        assert logits is not None
        if self.weighted:
            losses = output.get("losses")
            if losses is None:
                losses = cross_entropy(logits.float(), part.labels, reduction="none")
            loss = (part.weights * losses).mean()
        return loss, (logits.argmax(-1) == part.labels).sum()

    def _run(self, batch: _Batch) -> tuple[float, int]:
        """Return the loss and hits of a batch, run in as many parts as memory needs.

        Each process of the team runs its rows; gradients are those of the whole batch.
        """
        n_rows = batch.n_rows
        loss, hits = self._run_in_memory(batch.part(self.team.rows(n_rows)), n_rows)
        if torch.is_grad_enabled():
            self.team.add_gradients(self.trained)
        loss, total_hits = self.team.total(loss, hits)
        return loss, int(total_hits)

    def _run_in_memory(self, batch: _Batch, n_rows: int) -> tuple[float, int]:
        """Return the part of a batch of ``n_rows`` rows in the loss, and its hits."""
        rows, width = batch.inputs["input_ids"].shape
        on_gpu = [self.device] if self.device.type == "cuda" else []
        while True:
            height = rows if self.most_tokens is None else max(1, self.most_tokens // width)
            height = max(1, min(height, rows))
            # Each attempt draws the same dropout, so that a training does not depend on the last.
            drawn = torch.get_rng_state(), *map(torch.cuda.get_rng_state, on_gpu)
            try:
                return self._run_parts(batch, height, n_rows)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if height == 1 or not self.divisible:
                    raise ExparityError(
                        f"out of memory: {height} × {width} tokens cannot be trained on at once; "
                        "lower training.max_length or training.batch_size, take training.lora, or "
                        "another device"
                    ) from None
            self.most_tokens = height // 2 * width
            log.warning("out of memory; a step goes on in parts of %d tokens", self.most_tokens)
            self.optimizer.zero_grad()
            torch.set_rng_state(drawn[0])
            for gpu, state in zip(on_gpu, drawn[1:], strict=True):
                torch.cuda.empty_cache()
                torch.cuda.set_rng_state(state, gpu)

    def _run_parts(self, batch: _Batch, height: int, n_rows: int) -> tuple[float, int]:
        """Return the part of a batch in a loss over ``n_rows`` rows, and its hits, run in parts."""
        loss_sum = 0.0
        correct = 0
        for first in range(0, batch.n_rows, height):
            part = batch.part(slice(first, first + height))
            loss, hits = self._loss(part)
            loss = loss * (part.n_rows / n_rows)
            if torch.is_grad_enabled():
                self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            loss_sum += loss.item()
            correct += int(hits)
        return loss_sum, correct

    def _require_finite(self, value: float, epoch: int, step: int, rate: float) -> None:
        """Stop a training whose loss or weights are not finite, before it keeps them."""
        if not math.isfinite(value):
            raise ExparityError(
                f"the training diverged in epoch {epoch + 1}, at step {step + 1} (learning rate "
                f"{rate:.3g}): losses or weights are not finite; lower training.learning_rate, or "
                "raise training.warmup_share"
            )

    def _collate(self, items: list[Item]) -> _Batch:
        width = max(len(item.token_ids) for item in items)

        def padded(lists: Iterable[list[int]], value: int = 0) -> torch.Tensor:
            rows = [numbers + [value] * (width - len(numbers)) for numbers in lists]
            return torch.from_numpy(np.array(rows))

        inputs = {
            "input_ids": padded((item.token_ids for item in items), self.pad_id),
            "attention_mask": padded([1] * len(item.token_ids) for item in items),
        }
        if any(item.token_types for item in items):
            types = (item.token_types or [0] * len(item.token_ids) for item in items)
            inputs["token_type_ids"] = padded(types)
        return _Batch(
            {name: value.to(self.device) for name, value in inputs.items()},
            torch.tensor([item.label for item in items]).to(self.device),
            torch.tensor([item.weight for item in items]).to(self.device),
        )

    def _validate(self, items: list[Item]) -> tuple[float, float]:
        if not items:
            return float("nan"), float("nan")
        self.model.eval()
        loss = 0.0
        correct = 0
        with torch.no_grad():
            for first in range(0, len(items), self.training.batch_size):
                batch = self._collate(items[first : first + self.training.batch_size])
                mean, hits = self._run(batch)
                loss += mean * batch.n_rows
                correct += hits
        return loss / len(items), correct / len(items)

    def _load(self, weights: Mapping[str, torch.Tensor]) -> None:
        self.model.load_state_dict(dict(weights), strict=self.training.lora is None)

    def _keep(self, history: list[EpochRecord]) -> None:
        """Snapshot a finished epoch."""
        weights: dict[str, torch.Tensor] = self.model.state_dict()
        if self.training.lora is not None:  # the adapters alone
            trained = {
                name for name, weight in self.model.named_parameters() if weight.requires_grad
            }
            weights = {name: weight for name, weight in weights.items() if name in trained}
        losses = [record.validation_loss for record in history]
        if self.training.patience is not None and losses[-1] == min(losses):
            self.best = {k: v.detach().cpu().clone() for k, v in weights.items()}
        by_weight = self.optimizer.state_dict()["state"]
        facts = _State(
            epoch=len(history),
            history=[asdict(record) for record in history],
            scaler=self.scaler.state_dict(),
            threads=torch.get_num_threads(),
            most_tokens=self.most_tokens,
        )
        moments = {
            f"{i}/{key}": v for i, entries in by_weight.items() for key, v in entries.items()
        }
        if self.team.index == 0:
            self.state.save(Snapshot(weights, moments, self.best, vars(facts)))

    def _resume(self) -> list[EpochRecord]:
        """Load the latest snapshot, and return the history so far."""
        snapshot = self.state.load()
        if snapshot is None:
            return []
        (state,) = records(_State, [snapshot.facts])
        self._load(snapshot.weights)
        moments: dict[int, dict[str, torch.Tensor]] = defaultdict(dict)
        for key, value in snapshot.moments.items():
            index, _, entry = key.partition("/")
            moments[int(index)][entry] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": dict(moments), "param_groups": groups})
        self.scaler.load_state_dict(state.scaler)
        self.best = snapshot.best
        self.most_tokens = state.most_tokens
        history = [EpochRecord(**record) for record in state.history]
        log.info("continuing after epoch %d of %d", len(history), self.training.epochs)
        if state.threads != torch.get_num_threads():
            log.info("with %d threads, as it began: weights depend on their number", state.threads)
            torch.set_num_threads(state.threads)
        return history

    def finish(self) -> None:
        """Leave the trained model (the best epoch's with early stopping) on the CPU."""
        if self.best:
            self._load(self.best)
        self.model.eval()
        self.model.to("cpu")
