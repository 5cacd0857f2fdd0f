"""Kinds of classifier: the registry, and :class:`Head`, which each of them extends.

A kind of classifier is a class in a module of its own, registered with :func:`head`. It defines the
models of transformers that it works with, checks of checkpoints, the way from embeddings to logits,
the module that is trained, and files that are saved beside the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Union

from exparity.core.errors import InputError
from exparity.core.registry import Registered, Registry
from exparity.models.lookup import EmbeddedBatch, Frame, run_model, run_on_embeddings
from exparity.models.prompts import Prompt, PromptSpec
from exparity.types import Facts

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

    from exparity.models.auto import AutoClass


@dataclass(frozen=True, kw_only=True)
class HeadFacts(Facts):
    """Facts that a kind of classifier declares on registering.

    Attributes:
        auto: name of the Auto class of transformers that loads and builds its models.
        prompted: whether a prompt is asked, so that no weight may be new and none is added.
    """

    auto: str
    prompted: bool = False


@dataclass(frozen=True)
class WrittenConfig:
    """What a config.json says of a classifier's outputs, as transformers names it."""

    architectures: list[str] | None
    num_labels: int
    id2label: Mapping[int, str]
    problem_type: str | None


HEADS: Registry[HeadFacts] = Registry("head", "exparity.models.heads", HeadFacts)
ClassifierConfig = Union["PreTrainedConfig", WrittenConfig]
SEQUENCE = "sequence"
LABEL_WORDS = "label_words"
_KEY = "exparity_head"
"""Entry of a checkpoint's configuration that names its kind; sequence classifiers have none."""


def head(head_id: str, **facts: object) -> Callable[[Registered], Registered]:
    """Register a kind of classifier under ``head_id`` with its :class:`HeadFacts`.

    The class must be a subclass of :class:`Head`.
    """
    return HEADS.register(head_id, **facts)


def new_head(head_id: str, label: str | None = None) -> Head:
    """Return a head of a registered kind, for one label of several if it is named."""
    new: Head = HEADS.get(head_id).function()
    new.head_id = head_id
    new.label = label
    return new


def head_of(config: object) -> Head:
    """Return the head of the kind that a checkpoint's configuration names."""
    return new_head(getattr(config, _KEY, SEQUENCE))


class Head:
    """Particulars of one kind of classifier; by default, none.

    The default is a model of transformers whose outputs have ``logits`` of the classes.

    Attributes:
        head_id: id of its kind.
        prompt: the frame around every text; none if None.
        absent_id: token that stands for absent tokens; left to the tokenizer if None.
        label: of a model of several labels, the one that is explained; all if None.
        frame: special tokens around every text.
        answers_freely: whether the model may answer with something that is no class; see
            :meth:`mass`.
    """

    head_id: str
    prompt: Prompt | None = None
    absent_id: int | None = None
    label: str | None = None
    frame: Frame = Frame()
    answers_freely: bool = False

    @property
    def auto_class(self) -> AutoClass:
        """The Auto class of transformers that loads and builds its models."""
        from exparity.models.auto import auto_class

        return auto_class(HEADS.get(self.head_id).facts.auto)

    def require(
        self, name: str, config: ClassifierConfig, labels: Sequence[str] | None = None
    ) -> None:
        """Refuse a checkpoint that cannot be used as it is.

        Args:
            name: Hub id or folder.
            config: its configuration, from :func:`exparity.models.checkpoints.load_config`.
            labels: classes of the data, in the order of the outputs; not compared if None.

        Raises:
            InputError: it is of another kind, or not of these classes.
        """

    def require_model(self, model: PreTrainedModel) -> None:
        """Refuse a loaded model that is of another kind.

        Raises:
            InputError: names the model to load instead.
        """

    def settings(self, labels: Sequence[str]) -> dict[str, object]:
        """Return the entries of the configuration of a model with these classes."""
        kind = {} if self.head_id == SEQUENCE else {_KEY: self.head_id}
        return {
            "num_labels": len(labels),
            "id2label": dict(enumerate(labels)),
            "label2id": {name: index for index, name in enumerate(labels)},
            "problem_type": "single_label_classification",
            **kind,
        }

    def keeps_outputs(self, config: ClassifierConfig) -> bool:
        """Return whether the outputs of a checkpoint are no classes, and must not be renamed."""
        return False

    def class_names(self, config: ClassifierConfig) -> tuple[str, ...]:
        """Return the names of the classes of a configuration in the order of the logits."""
        names: dict[object, str] = dict(getattr(config, "id2label", None) or {})
        return tuple(str(names.get(i, i)) for i in range(int(config.num_labels or 0)))

    def logits(self, model: PreTrainedModel, batch: EmbeddedBatch) -> torch.Tensor:
        """Return the (b, c) logits of the classes."""
        return self.of_classes(model, run_on_embeddings(model, batch, self.frame).logits)

    def plain_logits(self, model: PreTrainedModel, **inputs: torch.Tensor) -> torch.Tensor:
        """Return the (1, c) logits of one text by another route, from its token ids."""
        return self.of_classes(model, run_model(model, **inputs).logits)

    def of_classes(self, model: PreTrainedModel, outputs: torch.Tensor) -> torch.Tensor:
        """Return the (b, c) logits of the classes by the (b, k) ``logits`` of the model."""
        return outputs

    def are_exclusive(self, model: PreTrainedModel) -> bool:
        """Return whether a text has one of the classes, so that probabilities add up to 1."""
        return True

    def probabilities(self, model: PreTrainedModel, logits: torch.Tensor) -> torch.Tensor:
        """Return the (b, c) probabilities of the classes of (b, c) logits."""
        return logits.softmax(-1)

    def mass(self, model: PreTrainedModel, batch: EmbeddedBatch) -> torch.Tensor:
        """Return the (b,) probability that the model gives to all classes together."""
        return batch.embeddings.new_ones(len(batch.last))

    def bind(self, spec: PromptSpec, tokenizer: PreTrainedTokenizerFast) -> None:
        """Set the prompt.

        Raises:
            InputError: words, template or absent token do not fit the tokenizer, or the kind of
                classifier has no prompt.
        """
        raise InputError(
            f"head {self.head_id}: takes no prompt; leave it out, or set head: label_words"
        )

    def write(self, folder: Path) -> None:
        """Save facts that are not in the weights, the configuration or the tokenizer."""

    def read(self, folder: Path) -> None:
        """Load the facts that :meth:`write` saved.

        Raises:
            InputError: it is missing or damaged.
        """

    def trained(self, model: PreTrainedModel, *, scratch: bool) -> torch.nn.Module:
        """Return the module that training runs.

        Its outputs have ``loss``, ``logits``, and ``losses`` of the examples if these are not the
        cross entropies of the logits. If its ``divisible`` is false, the loss of a batch is not the
        mean over its examples, so that a batch cannot be run in parts.

        Args:
            model: the model.
            scratch: whether it starts from random weights.
        """
        return model
