"""Any attribution algorithm of the captum library (Kokhlikyan et al. 2020), by its class name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exparity.core.errors import InputError, did_you_mean, reason_of
from exparity.methods import MethodBatch, method
from exparity.methods._gradients import baseline_rows
from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch

Algorithm = Literal[
    "Deconvolution",
    "DeepLift",
    "DeepLiftShap",
    "FeatureAblation",
    "GradientShap",
    "GuidedBackprop",
    "InputXGradient",
    "IntegratedGradients",
    "KernelShap",
    "LayerConductance",
    "LayerGradientShap",
    "LayerGradientXActivation",
    "LayerIntegratedGradients",
    "Lime",
    "Occlusion",
    "Saliency",
    "ShapleyValueSampling",
    "ShapleyValues",
]
_CONSERVING = ("DeepLift", "DeepLiftShap")
_OF_RELU = ("Deconvolution", "GuidedBackprop")
_SIZES = (*_OF_RELU, "Saliency")
"""Algorithms that give gradients, whose sum over the embedding is zero in theory: the L1 norm."""
_OURS = ("inputs", "target", "feature_mask", "sliding_window_shapes", "additional_forward_args")
LARGEST_GAP = 0.05
"""Share of the fall to the baseline by which scores that must add up to it may miss it."""


@method(
    "captum",
    signed=True,
    needs_gradient=True,
    target="logit",
    baseline="special tokens kept, padding elsewhere",
    stochastic=True,
    reference="Kokhlikyan et al. 2020, arXiv:2009.07896",
    display="captum",
    passes=100,
)
def captum(
    batch: MethodBatch,
    *,
    algorithm: Algorithm = "IntegratedGradients",
    options: Mapping[str, Any] = {},
) -> list[FloatArray]:
    """Scores by an attribution class of captum on the embeddings of one text after the other.

    Algorithms of layers attribute the embedding layer. Those that leave features out take each
    token as one feature; of those that give a gradient the L1 norm is taken over the embedding, and
    what the others give is summed. Where captum wants a baseline, it is that of
    ``integrated_gradients`` unless ``options`` say otherwise.

    Args:
        batch: the texts.
        algorithm: class of ``captum.attr``.
        options: of the class or of its ``attribute``, such as ``n_steps``,
            ``n_samples`` or ``baselines``.

    Returns:
        (t,) scores for each text, in logits unless the algorithm has another unit.

    Raises:
        InputError: an option that the algorithm does not have; captum refuses the model or an
            option; DeepLIFT does not add up, as captum has no rule for a layer of the model; or an
            algorithm that changes ReLU layers meets a model without any.
    """
    import captum.attr

    made = getattr(captum.attr, algorithm)
    wrapped = _on_rows(batch)
    own = [
        *list(inspect.signature(made).parameters)[1:],
        *inspect.signature(made.attribute).parameters,
    ]
    known = {name for name in own if name not in ("self", "layer", *_OURS)}
    for name in options:
        if name not in known:
            raise InputError(
                f"method captum.options: {algorithm} has no '{name}'; {did_you_mean(name, known)}"
            )
    if algorithm in _OF_RELU and not _has_relu(wrapped):
        raise InputError(
            f"method captum: {algorithm} changes what ReLU layers pass back, and this model has "
            "none; take our method guided_backprop, which knows other activations"
        )
    scores = []
    for row, (rows, absent) in enumerate(zip(batch.rows, baseline_rows(batch), strict=True)):
        words, absent_words = (
            batch.classifier.without_types(own, batch.token_ids[row]) for own in (rows, absent)
        )
        wrapped.types, wrapped.target = rows - words, int(batch.targets[row])
        call = _Call(made, wrapped, words, absent_words)
        with _drawing(batch.generator(row), rows.device):
            try:
                values = call.run(dict(options))
            except (AssertionError, TypeError, ValueError, RuntimeError, KeyError) as error:
                raise InputError(f"method captum: {algorithm}: {reason_of(error)}") from error
        if algorithm in _CONSERVING:
            call.check_sum(values)
        scores.append(values)
    return scores


class _Call:
    """One text, as a captum algorithm is called with it."""

    def __init__(self, made: Any, wrapped: Any, rows: torch.Tensor, absent: torch.Tensor) -> None:
        self._made, self._wrapped = made, wrapped
        self._rows, self._absent = rows[None].clone(), absent[None].clone()

    def run(self, options: dict[str, Any]) -> FloatArray:
        """Return the (t,) scores."""
        import torch

        of_class = set(inspect.signature(self._made).parameters)
        parameters = inspect.signature(self._made.attribute).parameters
        settings = {name: options.pop(name) for name in of_class & options.keys()}
        layer = (self._wrapped.embedded,) if "layer" in of_class else ()
        _, width, size = self._rows.shape
        per_token = "feature_mask" in parameters or "sliding_window_shapes" in parameters
        if "feature_mask" in parameters:
            tokens = torch.arange(width, device=self._rows.device)
            mask = tokens[None, :, None].expand(1, width, size)
            options["feature_mask"] = mask.contiguous()  # some algorithms take a view of it
        if "sliding_window_shapes" in parameters:
            options["sliding_window_shapes"] = (1, size)
        if "baselines" in parameters:
            several = 2 if "DeepLiftShap" in self._made.__name__ else 1  # captum wants a sample
            options.setdefault("baselines", self._absent.repeat(several, 1, 1))
        values = self._made(self._wrapped, *layer, **settings).attribute(
            self._rows.requires_grad_(not per_token), **options
        )
        first = values[0] if isinstance(values, tuple) else values
        of_elements = first.detach().double()[0]  # (t, h)
        if per_token:
            of_tokens = of_elements[:, 0]
        elif self._made.__name__ in _SIZES:
            of_tokens = of_elements.abs().sum(-1)
        else:
            of_tokens = of_elements.sum(-1)
        scores: FloatArray = of_tokens.cpu().numpy()
        return scores

    def check_sum(self, scores: FloatArray) -> None:
        """Refuse scores that must add up to the fall to the baseline, and do not."""
        import torch

        with torch.no_grad():
            outputs = self._wrapped(torch.cat([self._rows, self._absent]))
        fall = float(outputs[0] - outputs[1])
        if abs(scores.sum() - fall) > LARGEST_GAP * max(abs(fall), 0.1):
            raise InputError(
                f"method captum: {self._made.__name__} of this model adds up to "
                f"{scores.sum():.3g}, and the output falls by {fall:.3g}: it has layers without a "
                "rule of captum's; take our method deeplift"
            )


def _on_rows(batch: MethodBatch) -> Any:
    """Return a module from (b, t, h) embeddings to what is explained, with a layer for these."""
    import torch

    from exparity.models.lookup import EmbeddedBatch

    classifier = batch.classifier

    class OnRows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.embedded = classifier.model, torch.nn.Identity()
            self.types, self.target = torch.zeros(()), 0

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            rows = self.embedded(rows) + self.types
            last = torch.full((len(rows),), rows.shape[1] - 1, device=rows.device)
            logits = classifier.head.logits(self.model, EmbeddedBatch(rows, None, last))
            targets = torch.full((len(rows),), self.target, device=rows.device)
            return batch.objective(logits.float(), targets)

    return OnRows()


def _has_relu(model: torch.nn.Module) -> bool:
    import torch

    return any(isinstance(module, torch.nn.ReLU) for module in model.modules())


@contextmanager
def _drawing(rng: np.random.Generator, device: torch.device) -> Iterator[None]:
    """Seed the generators that captum draws from, torch's and numpy's global ones, and restore."""
    import torch

    state = np.random.get_state()  # noqa: NPY002  captum draws from it
    seed = int(rng.integers(2**31))
    with (
        torch.random.fork_rng([device] if device.type == "cuda" else []),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # captum tells of its hooks
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
