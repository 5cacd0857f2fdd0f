"""Classifiers with a classification head of transformers, ``…ForSequenceClassification``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from exparity.core.errors import InputError, name_list
from exparity.models.class_names import class_index, in_order_of_outputs, output_names
from exparity.models.heads import ClassifierConfig, Head, head

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

LABEL = "exparity_label"
"""Entry of a configuration: the one of several labels that is explained."""
_SEVERAL = "multi_label_classification"


@head(
    "sequence",
    auto="AutoModelForSequenceClassification",
    display="Classification head",
    reference="https://huggingface.co/docs/transformers/tasks/sequence_classification",
)
class SequenceHead(Head):
    """A layer of one logit for each class on the pooled, first or last token.

    A single output, the only one or the selected one of several labels, is the logit z of its label
    against 0. Labels that do not exclude one another have a probability each, σ(z).
    """

    def single_output(self, config: ClassifierConfig) -> int | None:
        """Return the index of the output that is explained against 0; None if all are classes."""
        if config.num_labels == 1:
            return 0
        label = self.label or getattr(config, LABEL, None)
        if label is None:
            return None
        if config.problem_type != _SEVERAL:
            raise InputError(f"label '{label}': each text has one of the classes; leave it out")
        return class_index(label, super().class_names(config), f"label '{label}'")

    def keeps_outputs(self, config: ClassifierConfig) -> bool:
        """See :meth:`Head.keeps_outputs`."""
        return self.single_output(config) is not None

    def class_names(self, config: ClassifierConfig) -> tuple[str, ...]:
        """See :meth:`Head.class_names`."""
        names = super().class_names(config)
        alone = self.single_output(config)
        return names if alone is None else (f"not {names[alone]}", names[alone])

    def require(
        self, name: str, config: ClassifierConfig, labels: Sequence[str] | None = None
    ) -> None:
        """See :meth:`Head.require`."""
        architectures = config.architectures or []
        if not any(a.endswith("ForSequenceClassification") for a in architectures):
            architecture_list = ", ".join(architectures) or "no architecture"
            raise InputError(
                f"checkpoint {name}: is not a sequence classifier (it holds {architecture_list}); "
                "fine-tune it first, or ask a language model with prompt= and words= (in a config: "
                "`head: label_words` and `prompts`)"
            )
        where = f"checkpoint {name}"
        _check_outputs(where, config)
        if labels is None:
            return
        alone = self.single_output(config)
        classes = self.class_names(config)
        if alone is None and config.problem_type == _SEVERAL:
            raise InputError(
                f"{where}: has several labels, and a text of the data has one class; name the "
                f"`label` to explain, such as {classes[0]} (in an audit: --model-label)"
            )
        if len(classes) != len(labels):
            raise InputError(
                f"{where}: has {len(classes)} classes and the data {len(labels)}; "
                "with 0 epochs its head would be random; train it, or bring data with its classes"
            )
        if alone is not None:
            numbers = ("0", "1"), ("false", "true"), ("no", "yes")
            if tuple(labels) not in numbers and labels[1].casefold() != classes[1].casefold():
                raise InputError(
                    f"{where}: its output is of '{classes[1]}', and the classes of the data are "
                    f"{name_list(labels)}; call them 0 and 1, or the second '{classes[1]}' (of a "
                    "table: `labels`)"
                )
            return
        outputs = output_names(config.id2label or {})
        if outputs is not None and in_order_of_outputs(outputs, labels, where) != tuple(labels):
            raise InputError(
                f"{where}: its classes are {name_list(outputs)}, in this order, and those of the "
                f"data {name_list(labels)}; put the data's in the same order (of a table: `labels`)"
            )

    def require_model(self, model: PreTrainedModel) -> None:
        """See :meth:`Head.require_model`."""
        names = [kind.__name__ for kind in type(model).__mro__]  # a user's class is a subclass
        if not any("ForSequenceClassification" in name for name in names):
            raise InputError(
                f"{type(model).__name__} has no classification head; load the model with "
                "AutoModelForSequenceClassification, or ask a language model with prompt= and "
                "words="
            )
        _check_outputs(model.config.name_or_path or type(model).__name__, model.config)

    def are_exclusive(self, model: PreTrainedModel) -> bool:
        """See :meth:`Head.are_exclusive`."""
        problem = getattr(model.config, "problem_type", None)
        return problem != _SEVERAL or self.single_output(model.config) is not None

    def probabilities(self, model: PreTrainedModel, logits: torch.Tensor) -> torch.Tensor:
        """See :meth:`Head.probabilities`."""
        from torch.nn.functional import logsigmoid

        if self.are_exclusive(model):
            return logits.softmax(-1)
        # `sigmoid` rounds the last numbers of a batch otherwise on some processors.
        return logsigmoid(logits).exp()

    def of_classes(self, model: PreTrainedModel, outputs: torch.Tensor) -> torch.Tensor:
        """See :meth:`Head.of_classes`; those of a single output are 0 and its own."""
        import torch

        alone = self.single_output(model.config)
        if alone is None:
            return outputs
        output = outputs[:, alone]
        return torch.stack([torch.zeros_like(output), output], dim=-1)


def _check_outputs(where: str, config: ClassifierConfig) -> None:
    if (config.num_labels or 0) < 1 or config.problem_type == "regression":
        raise InputError(
            f"{where}: predicts numbers (problem_type regression), not classes; take a classifier, "
            "or correct problem_type in config.json if it is one"
        )
