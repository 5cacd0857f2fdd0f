"""Any explainer of the shap package that takes texts (Lundberg and Lee 2017), by its class name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np

from exparity.core.errors import InputError, require_known, shown, within
from exparity.explanations.alignment import laid_on
from exparity.methods import MethodBatch
from exparity.methods._masks import masking_method
from exparity.methods._owen import unit_hierarchy
from exparity.methods._packages import Options, applying, refusals, sorted_options
from exparity.methods._side_by_side import Ask, explained_side_by_side
from exparity.types import BoolArray, FloatArray

_GAME = ("ExactExplainer", "PartitionExplainer", "PermutationExplainer")
"""Explainers of any function of masks; the others are of tables."""
_HIERARCHY = ("PartitionExplainer", "PermutationExplainer")
_TREES = "reads the splits of decision trees"
_NETWORK = "differentiates a network of a fixed number of inputs; take the method"
_REFUSED = {
    "AdditiveExplainer": "needs a model without interactions between features",
    "CoalitionExplainer": "needs columns with names, of which a tree is given, and no text has any",
    "DeepExplainer": f"{_NETWORK} deeplift, or captum with DeepLift",
    "GPUTreeExplainer": _TREES,
    "GradientExplainer": f"{_NETWORK} gradient_shap, or captum with GradientShap",
    "LinearExplainer": "reads the coefficients of a linear model",
    "TreeExplainer": _TREES,
}
_IS_SETTLED = "is settled by exparity"
_SETTLED = {
    "model": _IS_SETTLED,
    "masker": f"{_IS_SETTLED}: absent tokens become the mask token, and `unit` names the features",
    "data": f"{_IS_SETTLED}: absent tokens become the mask token, and `unit` names the features",
    "X": _IS_SETTLED,
    "y": _IS_SETTLED,
    "seed": f"{_IS_SETTLED}: draws are those of the run's seed and of the text",
    "outputs": f"{_IS_SETTLED}: the class that is explained is `target`",
    "output_names": _IS_SETTLED,
    "feature_names": _IS_SETTLED,
    "silent": _IS_SETTLED,
}
_UNNAMED = {
    "KernelExplainer": ("nsamples", "l1_reg", "gc_collect"),
    "SamplingExplainer": ("nsamples", "min_samples_per_feature"),
}
"""Options of ``shap_values`` that its signature does not name."""

Algorithm = Annotated[
    Literal[
        "ExactExplainer",
        "KernelExplainer",
        "PartitionExplainer",
        "PermutationExplainer",
        "SamplingExplainer",
    ],
    applying(_REFUSED),
]
Masks = BoolArray
Outputs = FloatArray


def _check(options: Mapping[str, Any]) -> None:
    _arguments(options["algorithm"], options["options"])


@masking_method(
    "shap_package",
    baseline="mask token",
    stochastic=True,
    reference="Lundberg and Lee 2017, arXiv:1705.07874; Owen 1977, doi:10.1007/978-3-642-45494-3_7",
    display="shap (package)",
    adaptive=True,
    passes=500,
    check_options=_check,
)
def shap_package(
    batch: MethodBatch,
    *,
    algorithm: Algorithm = "PartitionExplainer",
    options: Mapping[str, object] = {},
) -> list[FloatArray]:
    """Scores by an explainer of the shap package, which asks for masked texts in shared batches.

    The explainer sees the probabilities of all classes; scores are its values of the target.
    Features are the text's tokens, or larger units: absent ones are replaced by the mask token, and
    special tokens and those of a prompt stay. PartitionExplainer and PermutationExplainer get the
    hierarchy of shap's own masker of texts. A moved copy of a text is explained by itself.

    Args:
        batch: the texts.
        algorithm: class of ``shap.explainers``.
        options: of the class or of its call, such as ``max_evals``, ``nsamples`` or ``l1_reg``.
            Defaults are those of the package: KernelExplainer keeps ten features
            unless ``l1_reg`` is 0.

    Returns:
        (t,) signed scores for each text, in probability, or in the unit of ``link``.

    Raises:
        InputError: an option that the explainer does not have, or that shap refuses.
    """
    from exparity.engine.masking import MaskedTexts

    with within("method shap_package: "):
        constructor, call = _arguments(algorithm, options)
    masked = MaskedTexts(batch.classifier, batch.rows, token_ids=batch.token_ids)

    def answer(questions: Mapping[int, Masks]) -> list[Outputs]:
        """Return the (m, c) probabilities of (m, u) masks of units of each text."""
        owners = np.repeat(list(questions), [len(masks) for masks in questions.values()])
        on_tokens: list[BoolArray] = []
        for text, masks in questions.items():
            masks_on_tokens = batch.units[text].on_tokens(masks)
            on_tokens.extend(masks_on_tokens)
        ends = np.cumsum([len(masks) for masks in questions.values()])[:-1]
        return np.split(masked.probabilities(owners, on_tokens), ends)

    def explain(text: int, ask: Ask[Masks, Outputs]) -> FloatArray:
        inside = batch.text_masks[text]
        content = batch.content_masks[text]
        features = inside if algorithm in _GAME else content

        def predict(rows: object) -> Outputs:
            return ask(laid_on(features, np.asarray(rows) != 0, elsewhere=True))

        with refusals(f"method shap_package: {algorithm}: text {shown(batch.keys[text])}"):
            if algorithm in _GAME:
                hierarchy = _hierarchy(batch, text) if algorithm in _HIERARCHY else None
                masker = _Units(~content[inside], hierarchy)
                values = _of_game(algorithm, predict, masker, constructor, call)
            else:
                values = _of_table(algorithm, predict, int(features.sum()), constructor, call)
        expected = int(features.sum()), batch.classifier.n_classes
        if values.shape != expected:
            raise InputError(
                f"method shap_package: {algorithm}: gives values of the shape {values.shape}, not "
                f"{expected}, of features and classes; leave out options such as `interactions`"
            )
        scores = laid_on(features, values[:, batch.targets[text]], elsewhere=0.0)
        return batch.units[text].shared(scores)

    generators = [batch.generator(text) for text in range(len(batch))]
    return explained_side_by_side(explain, answer, generators)


def _arguments(algorithm: str, options: Options) -> tuple[dict[str, object], dict[str, object]]:
    """Return the options of an explainer's class and of its call, as it takes them."""
    import shap

    kind = getattr(shap.explainers, algorithm)
    call = kind.__call__ if algorithm in _GAME else kind.shap_values
    constructor, call_options = sorted_options(
        options, algorithm, kind, call, also=_UNNAMED.get(algorithm, ()), settled=_SETTLED
    )
    if algorithm in _GAME and "link" in constructor:
        name = str(constructor["link"])
        require_known(name, ("identity", "logit"), f"{algorithm}: link: no '{name}'")
        constructor["link"] = getattr(shap.links, name)
    return constructor, call_options


def _hierarchy(batch: MethodBatch, text: int) -> FloatArray:
    """Return the (u − 1, 4) clustering of a text's units, in scipy's format.

    The columns are both halves of each branch, its size as a share of the text, and its size.
    """
    halves = unit_hierarchy(batch, text)
    n_units = len(halves) + 1
    sizes = np.ones(n_units + len(halves))
    for branch, pair in enumerate(halves, start=n_units):
        sizes[branch] = sizes[pair].sum()
    joined = sizes[n_units:]
    return np.column_stack([halves, joined / n_units, joined])


class _Units:
    """A masker for shap that hands the masks of units through; some units always stay."""

    immutable_outputs = True
    default_batch_size = 5  # of shap's masker of texts

    def __init__(self, always: BoolArray, clustering: FloatArray | None) -> None:
        self._always = always
        if clustering is not None:
            self.clustering = clustering

    def __call__(self, mask: BoolArray, _: object) -> tuple[BoolArray]:
        return ((mask | self._always)[None],)

    def shape(self, _: object) -> tuple[int, int]:
        return 1, len(self._always)

    def mask_shapes(self, _: object) -> list[tuple[int]]:
        return [(len(self._always),)]

    def invariants(self, _: object) -> BoolArray:
        return self._always[None]


def _of_game(
    algorithm: str,
    predict: Callable[[object], Outputs],
    masker: _Units,
    constructor: dict[str, object],
    call: dict[str, object],
) -> FloatArray:
    """Return the (u, c) values of an explainer of functions of masks."""
    import shap

    if masker.shape(None)[1] == 1:  # shap has no hierarchy of one unit
        absent, present = predict(np.array([[False], [True]]))
        return np.asarray((present - absent)[None])
    seed = int(np.random.randint(2**31))  # noqa: NPY002 - the text's own draws
    _seed_compiled(seed)
    kind = getattr(shap.explainers, algorithm)
    if algorithm == "PermutationExplainer":  # else it seeds numpy anew
        constructor = {**constructor, "seed": seed}
    explainer = kind(predict, masker, **constructor)
    text = np.ones(masker.shape(None))
    return np.asarray(explainer(text, silent=True, **call).values[0])


def _of_table(
    algorithm: str,
    predict: Callable[[object], Outputs],
    n_features: int,
    constructor: dict[str, object],
    call: dict[str, object],
) -> FloatArray:
    """Return the (u, c) values of an explainer of tables, whose one background row is absence."""
    import shap

    kind = getattr(shap.explainers, algorithm)
    explainer = kind(predict, np.zeros((1, n_features)), **constructor)
    return np.asarray(explainer.shap_values(np.ones((1, n_features)), silent=True, **call)[0])


def _seed_compiled(seed: int) -> None:
    """Seed the generator that functions compiled by numba have in this thread."""
    _compiled_seed()(seed)


@cache
def _compiled_seed() -> Any:
    import numba

    @numba.njit
    def start(seed: int) -> None:
        np.random.seed(seed)  # noqa: NPY002

    return start
