"""Settings of a model and of its training, as typed values.

:mod:`exparity.config.models` describes the rest of the config.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from annotated_types import MinLen
from pydantic import model_validator

from exparity.core.flags import Count, Range
from exparity.core.validation import Settings

_MOST = 1 << 20
OF_FUNCTIONS = ("predict", "classes", "mask")
"""Keys of a model that is a function, which has no others."""


class ModelSettings(Settings):
    """Source of a model's weights and tokenizer.

    Attributes:
        init: load ``checkpoint`` (pretrained), or start from random weights (scratch), so that what
            the model knows of groups comes from this data alone.
        checkpoint: Hub id or local folder with safetensors weights; with init scratch, only its
            tokenizer and shape are taken.
        revision: commit, branch or tag of the Hub repository; the newest if None. Pin it: the
            newest one can change between two runs.
        architecture: model type for init scratch, as transformers names it (bert, roberta, gpt2,
            ...), or ola, the one-layer attention model.
        size: entries of that architecture's configuration, such as hidden_size; the architecture's
            own if left out.
        vocab_size: most entries of the vocabulary of a tokenizer that init scratch trains on the
            training split: byte-level BPE or WordPiece, as the architecture has it.
        scheme: parts of a pretrained model that are trained: all, the embeddings and the head
            (embedding), the same with embeddings drawn anew (embedding_reinitialised), or the head
            alone (classification).
        head: kind of classifier: sequence, a classification head of transformers; label_words, a
            causal language model that answers ``prompts``; or one that a plug-in registers.
        adapter: folder of an adapter of low rank (LoRA) that peft saved, of ``checkpoint``; merged
            into its weights.
        label: the label to explain of a ``checkpoint`` of several labels (sigmoid), without
            training: the classes of the data are then its absence and its presence.
        chat: put prompts into the chat template of the checkpoint's tokenizer, as a message of the
            user; with head label_words.
        predict: instead of all these, a black box: a function from a list of texts to
            probabilities, as ``module:function`` or ``file.py:function``, found from the folder
            that Snakemake runs in. It is not trained.
        classes: classes of the data, in the order of the columns of ``predict``.
        mask: replacement of a word that a method masks, for ``predict``; None leaves such words
            out.
    """

    init: Literal["pretrained", "scratch"] = "pretrained"
    checkpoint: str | None = None
    revision: str | None = None
    architecture: str | None = None
    size: Mapping[str, object] = {}
    vocab_size: Annotated[int, Range(at_least=300, at_most=_MOST)] = 8000
    scheme: Literal["all", "embedding", "embedding_reinitialised", "classification"] = "all"
    head: str = "sequence"
    adapter: str | None = None
    label: str | None = None
    chat: bool = False
    predict: str | None = None
    classes: Sequence[str] = ()
    mask: str | None = None


class ModelSpec(ModelSettings):
    """Source of a model, once the catalogue has filled in its part."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.predict is not None:
            for name, field in ModelSpec.model_fields.items():
                if name not in OF_FUNCTIONS and getattr(self, name) != field.default:
                    raise ValueError(f"{name}: is not for models with 'predict'; leave it out")
            if len(set(self.classes)) < max(2, len(self.classes)):
                raise ValueError("classes: name the columns of predict, in order; two or more")
            return self
        for key in OF_FUNCTIONS:
            if getattr(self, key):
                raise ValueError(f"{key}: is for models with 'predict'; leave it out")
        if self.adapter is not None and self.init == "scratch":
            raise ValueError("adapter: a model from scratch has none; leave it out")
        if self.label is not None and (self.init == "scratch" or self.head != "sequence"):
            raise ValueError("label: is for checkpoints with a classification head; leave it out")
        if self.init == "pretrained" and not self.checkpoint:
            raise ValueError(
                "a pretrained model needs 'checkpoint': a Hub id or a folder; or 'predict', a "
                "function"
            )
        if self.init == "scratch" and not (self.architecture or self.checkpoint):
            raise ValueError(
                "a model from scratch needs 'architecture' (such as bert or gpt2), or a "
                "'checkpoint' to take tokenizer and shape from"
            )
        if self.init == "scratch" and self.scheme != "all":
            raise ValueError(
                f"scheme '{self.scheme}' would leave random weights as they are; a model from "
                "scratch is trained whole (scheme: all)"
            )
        return self

    @property
    def source(self) -> str:
        """Name of its checkpoint in messages: with its revision, if it has one."""
        return f"{self.checkpoint}@{self.revision}" if self.revision else str(self.checkpoint)


class TrainingSettings(Settings):
    """Settings of fine-tuning.

    Attributes:
        epochs: passes over the training split; 0 leaves the weights as they are, for checkpoints
            that are already fine-tuned.
        batch_size: examples per step.
        learning_rate: peak of the linear schedule. Small models from scratch need more, about 1e-3.
        weight_decay: AdamW's weight decay, on all weights but biases and layer norms.
        warmup_steps: steps of linear warm-up; if None, ``warmup_share`` of all steps.
        warmup_share: share of all steps used for warm-up. Without warm-up large models can collapse
            to one class.
        max_grad_norm: gradients are clipped to this norm.
        max_length: longest input in tokens; the model's limit if None. It cuts long texts, for
            speed; words that are cut cannot be explained.
        precision: arithmetic of training; bf16 and fp16 are mixed precision.
        processes: processes of one machine that train together, each on its GPU (or on the CPU with
            ``engine.device: cpu``) and on its rows of every batch. Dropout draws for each process,
            so that weights depend on their number.
        validation_share: share of the training split (whole matched sets) held out for validation.
        patience: stop after so many epochs without a better validation loss, and keep the best
            epoch's weights; never if None. Needs ``validation_share``.
        templates: numbers of the dataset's templates that a model with head label_words is trained
            with, one drawn for each matched set or text; the template of its seed if None.
        shortcuts: leave out positions of the last layer that the head does not read, for BERT and
            RoBERTa: a classifier of two layers trains 1.5 times faster. Weights differ as by
            rounding; with dropout other numbers are drawn.
        lora: train adapters of low rank instead of the weights, with this ``rank`` and ``alpha``
            (16 if left out), and merge them afterwards.
    """

    epochs: Annotated[int, Range(at_least=0, at_most=10_000)] = 5
    batch_size: Annotated[int, Range(at_least=1, at_most=65_536)] = 32
    learning_rate: Annotated[float, Range(above=0, at_most=10)] = 5e-5
    weight_decay: Annotated[float, Range(at_least=0, at_most=10)] = 0.01
    warmup_steps: Annotated[int, Range(at_least=0, at_most=1_000_000_000)] | None = None
    warmup_share: Annotated[float, Range(at_least=0, at_most=1)] = 0.1
    max_grad_norm: Annotated[float, Range(above=0, at_most=1_000_000)] = 1.0
    max_length: Annotated[int, Range(at_least=4, at_most=_MOST)] | None = None
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    processes: Annotated[int, Range(at_least=1, at_most=64)] = 1
    validation_share: Annotated[float, Range(at_least=0, below=1)] = 0.0
    patience: Count | None = None
    templates: (
        Annotated[Sequence[Annotated[int, Range(at_least=0, at_most=_MOST)]], MinLen(1)] | None
    ) = None
    shortcuts: bool = False
    lora: Mapping[str, Annotated[int, Range(at_least=1, at_most=_MOST)]] | None = None


class TrainingSpec(TrainingSettings):
    """Settings of fine-tuning, once all layers are merged."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.patience is not None and not self.validation_share:
            raise ValueError("training.patience needs training.validation_share above 0")
        if self.processes > self.batch_size:
            raise ValueError(
                f"training.processes {self.processes}: is more than training.batch_size "
                f"{self.batch_size}, so that some would have nothing to do"
            )
        if self.lora is not None:
            for key in self.lora:
                if key not in ("rank", "alpha"):
                    raise ValueError(f"training.lora: unknown key '{key}'; write rank and alpha")
            if "rank" not in self.lora:
                raise ValueError("training.lora: name the rank of the adapters, such as rank: 8")
        return self


def recorded(model: ModelSpec, training: TrainingSpec) -> dict[str, dict[str, object]]:
    """Return the keys of a model and its training that artefacts record."""
    complete = {"model": model.all_values, "training": training.all_values}
    if model.predict is None:
        return complete
    return {
        "model": {key: complete["model"][key] for key in OF_FUNCTIONS},
        "training": {"epochs": 0},
    }


def merge_training(*layers: Mapping[str, object]) -> dict[str, object]:
    """Merge training settings from general to special.

    ``warmup_steps`` wins over ``warmup_share`` where both are set, so that a layer which sets the
    share alone takes the steps of the layers below back.
    """
    merged: dict[str, object] = {}
    for layer in layers:
        if "warmup_share" in layer and "warmup_steps" not in layer:
            merged.pop("warmup_steps", None)
        merged.update(layer)
    return merged
