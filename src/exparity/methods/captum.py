"""Attribution algorithms of the captum library (Kokhlikyan et al. 2020), by their class names."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from exparity.core.errors import InputError, did_you_mean, shown, within
from exparity.core.seeding import seeded
from exparity.methods import MethodBatch
from exparity.methods._gradients import baseline_rows, path_method
from exparity.methods._packages import (
    FUNCTION,
    Options,
    applying,
    object_of,
    refusals,
    sorted_options,
)
from exparity.methods._side_by_side import Ask, explained_side_by_side
from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier

_ONE_BASELINE = "takes a sample of baselines, and a text has one; take"
_CONVOLUTION = "weighs the channels of a convolution, which a model of texts lacks"
_RULES = "has no rule for normalisation and attention; take the method attnlrp"
_GENERATED = "explains texts that a model writes, and not a class"
_NEURON = "explains a neuron, and not a class"
_REFUSED = {
    "DataLoaderAttribution": "explains a data set, and not a text",
    "DeepLiftShap": f"{_ONE_BASELINE} DeepLift",
    "GuidedGradCam": _CONVOLUTION,
    "LLMAttribution": _GENERATED,
    "LLMGradientAttribution": _GENERATED,
    "LRP": _RULES,
    "LayerActivation": "gives activations, which are the same for every class",
    "LayerDeepLiftShap": f"{_ONE_BASELINE} LayerDeepLift",
    "LayerFeaturePermutation": "permutes layers of several texts at once; take FeaturePermutation",
    "LayerGradCam": _CONVOLUTION,
    "LayerLRP": _RULES,
    "LimeBase": "needs functions of your own; take Lime",
    "NeuronConductance": _NEURON,
    "NeuronDeconvolution": _NEURON,
    "NeuronDeepLift": _NEURON,
    "NeuronDeepLiftShap": _NEURON,
    "NeuronFeatureAblation": _NEURON,
    "NeuronGradient": _NEURON,
    "NeuronGradientShap": _NEURON,
    "NeuronGuidedBackprop": _NEURON,
    "NeuronIntegratedGradients": _NEURON,
    "NoiseTunnel": "averages another algorithm over noise, and is none",
    "RemoteLLMAttribution": _GENERATED,
}
_IS_SETTLED = "is settled by exparity"
_SETTLED = {
    **dict.fromkeys(("forward_func", "model", "inputs", "device_ids"), _IS_SETTLED),
    "additional_forward_args": _IS_SETTLED,
    "feature_mask": f"{_IS_SETTLED}: `unit` names the features",
    "layer_mask": f"{_IS_SETTLED}: each token is a feature",
    "return_convergence_delta": f"{_IS_SETTLED}: scores alone are kept",
    "return_input_shape": _IS_SETTLED,
    "target": _IS_SETTLED,
    **dict.fromkeys(("custom_attribution_func", "perm_func", "perturb_func"), FUNCTION),
    "similarity_func": FUNCTION,
}
_GRADIENTS = ("Deconvolution", "GuidedBackprop", "InternalInfluence", "Saliency")
"""Algorithms whose values are a gradient, which sums to zero where a LayerNorm follows."""
_RECTIFIED = {
    "Deconvolution": "ReLU",
    "DeepLift": "ReLU, sigmoid, tanh and softmax",
    "GuidedBackprop": "ReLU",
    "LayerDeepLift": "ReLU, sigmoid, tanh and softmax",
}
"""Algorithms with rules for some modules alone, and which."""
_WITH_RELU = ("opt", "t5")
_PER_CALL = 16
"""Versions of a text that an algorithm asks for at once."""

Algorithm = Annotated[
    Literal[
        "Deconvolution",
        "DeepLift",
        "FeatureAblation",
        "FeaturePermutation",
        "GradientShap",
        "GuidedBackprop",
        "InputXGradient",
        "IntegratedGradients",
        "InternalInfluence",
        "KernelShap",
        "LayerConductance",
        "LayerDeepLift",
        "LayerFeatureAblation",
        "LayerGradientShap",
        "LayerGradientXActivation",
        "LayerIntegratedGradients",
        "Lime",
        "Occlusion",
        "Saliency",
        "ShapleyValueSampling",
        "ShapleyValues",
    ],
    applying(_REFUSED),
]


def _check(options: Mapping[str, Any]) -> None:
    _arguments(options["algorithm"], options["options"], options["unit"])


def _caution(options: Mapping[str, Any], model_type: str) -> str | None:
    algorithm = options["algorithm"]
    if algorithm not in _RECTIFIED or model_type in _WITH_RELU:
        return None
    return (
        f"captum's {algorithm} has rules for modules of {_RECTIFIED[algorithm]} alone; elsewhere, "
        "such as in GELU, it takes the plain gradient (methods deeplift and guided_backprop do not)"
    )


@path_method(
    "captum",
    stochastic=True,
    reference="Kokhlikyan et al. 2020, arXiv:2009.07896",
    display="captum",
    passes=100,
    per="token",
    check_options=_check,
    caution=_caution,
)
def captum(
    batch: MethodBatch,
    *,
    algorithm: Algorithm = "IntegratedGradients",
    options: Mapping[str, object] = {},
) -> list[FloatArray]:
    """Scores by an attribution class of captum on the embeddings of a text.

    Those that leave features out take each token, or larger unit, as one feature; what they ask of
    many texts shares batches. Others run one text after the other. Of the gradient that
    ``Saliency`` and its like give, the L1 norm is taken over the embedding, and what the others
    give is summed. Where captum wants a baseline, it is that of ``integrated_gradients`` unless
    ``options`` say otherwise. ``FeaturePermutation`` replaces the embeddings of a feature by those
    of other tokens of the text, which are drawn.

    Args:
        batch: the texts.
        algorithm: class of ``captum.attr``.
        options: of the class or of its ``attribute``, such as ``n_steps``, ``n_samples`` or
            ``baselines``. ``layer`` is the name of a module of the model; the first one
            that depends on all tokens' embeddings is taken unless it is set.
            ``sliding_window_shapes`` is a number of tokens. ``interpretable_model`` is a
            linear model of captum such as SkLearnLasso, or ``use`` and its options.

    Returns:
        (t,) scores for each text, in logits unless the algorithm has another unit.

    Raises:
        InputError: an option or a layer that the algorithm does not have, or that captum refuses,
            or larger units for one that leaves nothing out.
    """
    import torch

    from exparity.engine.classifier import in_evaluation

    with within("method captum: "):
        constructor, call = _arguments(algorithm, options, batch.unit)
    run = _Run(batch, algorithm, constructor, call, baseline_rows(batch))
    with in_evaluation(batch.classifier.model), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum tells of its hooks
        if run.leaves_out:
            generators = [batch.generator(text) for text in range(len(batch))]
            return explained_side_by_side(run.with_engine, run.answer, generators)
        scores = []
        for text in range(len(batch)):
            with seeded(batch.generator(text)), torch.enable_grad():
                scores.append(run.on_rows(text))
        return scores


def _arguments(
    algorithm: str, options: Options, unit: str
) -> tuple[dict[str, object], dict[str, object]]:
    """Return the options of an algorithm's class and of its ``attribute``, as it takes them."""
    import captum.attr
    from captum._utils.models import linear_model

    kind = getattr(captum.attr, algorithm)
    constructor, call = sorted_options(options, algorithm, kind, kind.attribute, settled=_SETTLED)
    if unit != "token" and "feature_mask" not in inspect.signature(kind.attribute).parameters:
        raise InputError(
            f"{algorithm}: unit: {unit}: no unit is left out as one; take FeatureAblation or "
            "another one that leaves features out, or the unit token"
        )
    if constructor.get("interpretable_model") is not None:
        names = [name for name in dir(linear_model) if name.startswith("SkLearn")]
        constructor["interpretable_model"] = object_of(
            constructor["interpretable_model"],
            linear_model,
            names,
            f"{algorithm}: interpretable_model",
        )
    return constructor, call


class _Run:
    """An algorithm with its options, on the texts of a batch."""

    def __init__(
        self,
        batch: MethodBatch,
        algorithm: str,
        constructor: Mapping[str, object],
        call: Mapping[str, object],
        baselines: list[torch.Tensor],
    ) -> None:
        import captum.attr

        self.batch = batch
        self.algorithm = algorithm
        self.kind = getattr(captum.attr, algorithm)
        self.constructor = constructor
        self.call = call
        self.parameters = inspect.signature(self.kind.attribute).parameters
        self.leaves_out = bool({"feature_mask", "sliding_window_shapes"} & {*self.parameters})
        self.words = batch.word_rows
        self.absent = [
            batch.classifier.without_types(rows, ids)
            for rows, ids in zip(baselines, batch.token_ids, strict=True)
        ]

    def answer(self, questions: Mapping[int, torch.Tensor]) -> list[torch.Tensor]:
        """Return what is explained of (b, t, h) embeddings of each text, without its types."""
        import torch

        owners = [text for text, rows in questions.items() for _ in rows]
        places = [place for rows in questions.values() for place in range(len(rows))]
        lengths = [self.batch.lengths[text] for text in owners]

        def build(positions: list[int], width: int) -> torch.Tensor:
            rows = [questions[owners[i]][places[i]] + self._types(owners[i]) for i in positions]
            return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

        outputs = self.batch.classifier.outputs_of(lengths, build)
        logits = torch.as_tensor(outputs.logits, dtype=torch.float32)
        targets = torch.as_tensor(self.batch.targets[owners])
        values = self.batch.objective(logits, targets).to(self.batch.classifier.device)
        return list(torch.split(values, [len(rows) for rows in questions.values()]))

    def with_engine(self, text: int, ask: Ask[torch.Tensor, torch.Tensor]) -> FloatArray:
        """Return the (t,) scores of a text by an algorithm that leaves features out."""
        import torch

        width, size = self.words[text].shape
        units = torch.as_tensor(
            self.batch.units[text].unit_of_token, device=self.words[text].device
        )
        mask = units[None, :, None].expand(1, width, size).contiguous()  # some take a view
        arguments: dict[str, Any] = dict(self.call)
        if "feature_mask" in self.parameters:
            arguments["feature_mask"] = mask
        else:
            window = min(arguments.get("sliding_window_shapes", 1), width)
            arguments["sliding_window_shapes"] = (window, size)
        if "perturbations_per_eval" in self.parameters:
            arguments.setdefault("perturbations_per_eval", _PER_CALL)
        constructor = dict(self.constructor)
        if self.algorithm == "FeaturePermutation":
            constructor["perm_func"] = _from_elsewhere
        if self.algorithm == "KernelShap" and len(self.batch.units[text]) == 1:
            # captum draws sizes between 1 and all; here there are none.
            present, absent = ask(torch.stack([self.words[text], self.absent[text]])).tolist()
            return np.full(width, (present - absent) / width)
        values = self._attributed(text, self.kind, ask, constructor, arguments)
        scores = np.asarray(values[:, 0].cpu().numpy())  # one number per feature
        counts = np.bincount(self.batch.units[text].unit_of_token)
        return np.asarray(scores / counts[self.batch.units[text].unit_of_token])

    def on_rows(self, text: int) -> FloatArray:
        """Return the (t,) scores of a text by an algorithm that differentiates the model."""
        model = _model_of(self.batch, self._types(text), int(self.batch.targets[text]))
        constructor = dict(self.constructor)
        arguments = dict(self.call)
        if "layer" in inspect.signature(self.kind).parameters:
            name = constructor.pop("layer", None)
            layer, shape = _layer(self.batch.classifier, name, model, self.words[text], self.call)
            constructor["layer"] = layer
            if "layer_mask" in self.parameters:
                arguments["layer_mask"] = _tokens_of(shape, self.words[text])
        values = self._attributed(text, self.kind, model, constructor, arguments)
        if self.algorithm in _GRADIENTS:
            values = values.abs()
        elif "layer_mask" in self.parameters:
            values = values[:, :1]  # one number per token
        return np.asarray(values.sum(-1).cpu().numpy())

    def _types(self, text: int) -> torch.Tensor:
        return self.batch.rows[text] - self.words[text]

    def _attributed(
        self,
        text: int,
        kind: Callable[..., Any],
        function: Callable[[torch.Tensor], torch.Tensor],
        constructor: Mapping[str, object],
        arguments: dict[str, object],
    ) -> torch.Tensor:
        """Return the (t, h) values of one text."""
        if "baselines" in self.parameters:
            arguments = {"baselines": self.absent[text][None], **arguments}
        # captum permutes nothing in a batch of one.
        copies = 2 if self.algorithm == "FeaturePermutation" else 1
        inputs = self.words[text].repeat(copies, 1, 1).requires_grad_(not self.leaves_out)
        key = shown(self.batch.keys[text])
        with refusals(f"method captum: {self.algorithm}: text {key}"):
            values = kind(function, **constructor).attribute(inputs, **arguments)
            attributions = (values[0] if isinstance(values, tuple) else values).detach().double()
        if attributions.shape[:2] != inputs.shape[:2] or attributions.ndim != 3:
            raise InputError(
                f"method captum: {self.algorithm}: gives values of the shape "
                f"{tuple(attributions.shape)}, not a row for each of {inputs.shape[1]} tokens; "
                "take another layer"
            )
        mean: torch.Tensor = attributions.mean(0)
        return mean


def _from_elsewhere(rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return (b, t, h) embeddings with those of a feature replaced by those of other tokens.

    captum permutes a feature among several texts; here it is permuted among the tokens of one.
    """
    import torch

    in_feature = mask[0, :, 0]
    places = torch.nonzero(in_feature)[:, 0]
    others = torch.nonzero(~in_feature)[:, 0]
    permuted = rows.clone()
    for copy in permuted if len(others) else ():
        drawn = torch.randint(len(others), (len(places),)).to(rows.device)
        copy[places] = copy[others[drawn]]
    return permuted


def _model_of(batch: MethodBatch, types: torch.Tensor, target: int) -> torch.nn.Module:
    """Return what is explained of a text as a module, from its embeddings without token types."""
    import torch

    from exparity.models.lookup import EmbeddedBatch

    classifier = batch.classifier

    class OnRows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = classifier.model

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            last = torch.full((len(rows),), rows.shape[1] - 1, device=rows.device)
            targets = torch.full((len(rows),), target, device=rows.device)
            embedded = EmbeddedBatch(rows + types, None, last)
            logits = classifier.head.logits(classifier.model, embedded)
            explained: torch.Tensor = batch.objective(logits.float(), targets)
            return explained

    return OnRows().eval()


def _layer(
    classifier: Classifier,
    name: object,
    model: Callable[[torch.Tensor], torch.Tensor],
    rows: torch.Tensor,
    call: Mapping[str, object],
) -> tuple[torch.nn.Module, tuple[int, ...]]:
    """Return a module of the model by its name, and the shape of what is attributed of it.

    Without a name it is the first one that gives a row for each token and depends on the inputs.
    """
    import torch

    modules = {path: module for path, module in classifier.model.named_modules() if path}
    if name is not None and name not in modules:
        hint = did_you_mean(str(name), modules)
        if hint.startswith("known"):  # there are hundreds
            hint = f"its names are those of `named_modules`, such as '{[*modules][-1]}'"
        raise InputError(f"method captum: layer: the model has no module {shown(name)}; {hint}")
    chosen = modules if name is None else {str(name): modules[str(name)]}
    shapes: dict[str, tuple[int, ...]] = {}
    hooks = []
    for path, module in chosen.items():

        def note(_: object, inputs: object, output: object, path: str = path) -> None:
            value = inputs if call.get("attribute_to_layer_input") else output
            value = value[0] if isinstance(value, tuple) and value else value
            if isinstance(value, torch.Tensor) and value.requires_grad and value.ndim == 3:
                shapes.setdefault(path, tuple(value.shape))

        hooks.append(module.register_forward_hook(note))
    try:
        model(rows[None].clone().requires_grad_())
    finally:
        for hook in hooks:
            hook.remove()
    fitting = [path for path, shape in shapes.items() if shape[1] == len(rows)]
    if not fitting:
        named = "a layer" if name is None else f"layer '{name}'"
        raise InputError(
            f"method captum: {named} does not give a row for each token that depends on it; name "
            "another one"
        )
    return modules[fitting[0]], shapes[fitting[0]]


def _tokens_of(shape: tuple[int, ...], rows: torch.Tensor) -> torch.Tensor:
    """Return (1, t, k) features of a layer: each token is one."""
    import torch

    tokens = torch.arange(shape[1], device=rows.device)
    return tokens[None, :, None].expand(1, *shape[1:]).contiguous()
