"""A loaded classifier that turns lists of work into few large batches.

Every input reaches the model as embeddings, with exactly the rows asked for: padding is known by
length and never guessed from token ids, so that a text may contain the padding token (as baselines
do), and a result is the same alone and in any batch.
"""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from exparity.core.calls import checked_value
from exparity.core.errors import ExparityError, InputError, did_you_mean
from exparity.engine.batching import MemoryBound, in_batches
from exparity.engine.encoding import encode_texts
from exparity.engine.kernels import PackedLayers, available
from exparity.engine.objectives import Objective, objective_of, target_logit
from exparity.engine.shortcuts import check_family, pooled_position_only
from exparity.models.heads import SEQUENCE, Head, new_head
from exparity.models.inputs import token_types
from exparity.models.lookup import Frame
from exparity.types import BoolArray, Encoding, FloatArray, IntArray, TextLike

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Build = Callable[[list[int], int], torch.Tensor]
Gradients = tuple[int, tuple[torch.Tensor, ...], FloatArray]

# Padded tokens a batch. On a CPU larger batches leave the cache and are slower; on a GPU smaller
# ones leave it idle.
_TOKEN_BUDGET = {"cpu": 2048, "cuda": 65536}
HALF_BOUND = 0.05
"""Largest difference of a text's logits in fp16 from those in fp32; beyond it fp32 is taken."""
# Matrix products of fewer rows take another route through a CPU's libraries and round otherwise.
_FEWEST_ROWS = 4


class Outputs(NamedTuple):
    """Outputs of the model for n inputs.

    Attributes:
        probabilities: (n, c) float64, rows sum to 1.
        logits: (n, c) float64 of float32 logits.
    """

    probabilities: FloatArray
    logits: FloatArray

    def of_targets(self, targets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (n,) probability and log odds, z_y − log Σ_{c≠y} exp z_c, of a class of each."""
        from scipy.special import logsumexp

        rows, others = np.arange(len(targets)), self.logits.copy()
        others[rows, targets] = -np.inf
        odds = self.logits[rows, targets] - logsumexp(others, axis=1)
        return self.probabilities[rows, targets], np.asarray(odds)


class Classifier:
    """A transformers model with a classification head and its fast tokenizer on one device.

    Made by :func:`~exparity.engine.loading.load_classifier`, which explains its arguments.

    Raises:
        InputError: shortcuts are asked for and not known for this family of models.
    """

    is_black_box = False
    """Whether it only answers, and has no weights, gradients or embeddings."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        *,
        head: Head | None = None,
        device: torch.device,
        max_length: int,
        token_budget: int | None = None,
        shortcuts: bool = False,
    ) -> None:
        if shortcuts:
            check_family(model)
        self.shortcuts = shortcuts
        self._known: dict[tuple[int, ...], tuple[FloatArray, ...]] | None = None
        self.fp32_twin: Classifier | None = None  # of a model in fp16, the same in fp32
        self.is_compared = False  # with the plain model; see preflight.check_function
        self.refusals = Counter[str]()  # what fp16 was refused for since somebody has asked
        self._needs_fp32: dict[tuple[int, ...], bool] = {}
        # What accelerate has spread over devices moves its inputs itself, and is not to be moved.
        if not getattr(model, "hf_device_map", None):
            model.to(device)  # type: ignore[arg-type]
        self.model: Any = model
        self.model.eval()
        self.tokenizer = tokenizer
        self.head = head or new_head(SEQUENCE)
        self.class_names = self.head.class_names(model)
        self.device = device
        self.max_length = max_length
        self.token_budget = token_budget or _TOKEN_BUDGET.get(device.type, 2048)
        self._gradient_share = _gradient_share(model, device)
        # A user's budget is taken as it is.
        bounded = device.type == "cuda" and token_budget is None
        self._memory = MemoryBound(device) if bounded else None
        self._gradient_memory = MemoryBound(device) if bounded else None
        # On a CPU only texts of one length share a batch: nothing is padded, and a result has the
        # same bits in any batch. A GPU is better served by fewer, padded ones, where the model
        # leaves padding out of its sums (see preflight.check_function).
        self.exact = device.type == "cpu"
        self._layers: PackedLayers | None = None
        if self.exact:
            _steady_head(self.model)
            if available(model.dtype):
                self._layers = PackedLayers(self.model)
        self._types = token_types(model)
        self.head.frame = Frame.of(model, tokenizer, typed=self._types is None)

    def with_random_weights(self, seed: int) -> Classifier:
        """Return a classifier like this, with weights as its architecture draws them at first.

        They are drawn on the CPU, so that a seed gives the same ones on every device.
        """
        if self.fp32_twin is not None:
            return self.fp32_twin.with_random_weights(seed).in_fp16()
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            model = type(self.model)(copy.deepcopy(self.model.config))
        return self._like(model.to(self.model.dtype))

    def in_fp16(self) -> Classifier:
        """Return this classifier, in fp32, with passes in fp16 where the range of that allows.

        Gradients are taken in fp32, as is every pass whose result is not finite in fp16.
        """
        half = self._like(copy.deepcopy(self.model).half())
        half.fp32_twin = self
        return half

    def anew(self) -> Classifier:
        """Return a classifier of this model that has learnt nothing yet of texts and memory."""
        made = self._like(self.model)
        made.exact = self.device.type == "cpu"
        made.in_fp32 = self.in_fp32 and self.in_fp32.anew()
        return made

    def _like(self, model: PreTrainedModel) -> Classifier:
        made = Classifier(
            model,
            self.tokenizer,
            head=self.head,
            device=self.device,
            max_length=self.max_length,
            token_budget=None if self._memory else self.token_budget,
            shortcuts=self.shortcuts,
        )
        made.exact = self.exact
        return made

    def encode(self, texts: Sequence[TextLike]) -> list[Encoding]:
        """Encode texts or lists of words; see :func:`exparity.engine.encoding.encode_texts`."""
        stride = 0 if self._types is None else self.vocabulary_size
        return encode_texts(self.tokenizer, texts, self.max_length, stride, self.head.prompt)

    @property
    def gradient_budget(self) -> int:
        """Padded tokens of a batch that is differentiated."""
        return max(1, self.token_budget // self._gradient_share)

    @property
    def vocabulary_size(self) -> int:
        """Rows of the table of input embeddings."""
        return len(self.model.get_input_embeddings().weight)

    @property
    def n_types(self) -> int:
        """Types of tokens that tell the texts of a pair apart; 1 where the model has none."""
        return 1 if self._types is None else len(self._types)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    def class_index(self, target: int | str) -> int:
        """Return the index of a class that is given by its index or by its name.

        Raises:
            InputError: there is no such class.
        """
        names = self.class_names
        if isinstance(target, str):
            if target not in names:
                raise InputError(f"target '{target}'; {did_you_mean(target, names)}")
            return names.index(target)
        index: int = checked_value(target, int, "target")
        if not 0 <= index < self.n_classes:
            raise InputError(
                f"target {index}: the model has {self.n_classes} classes, 0 to {self.n_classes - 1}"
            )
        return index

    def objective(self, explains: str | Mapping[Any, str]) -> Objective:
        """Return the function of logits and targets that ``explains`` stands for.

        Raises:
            InputError: the class to explain against is none of the model's.
        """
        return objective_of(explains, self.class_names, in_words=self.head.answers_freely)

    @property
    def pad_id(self) -> int:
        """Token id of padding, or of the end of text in models without one."""
        known = self.head.absent_id
        if known is None:
            known = self._token_id("pad", "eos")
        if known is None:
            raise ExparityError("the tokenizer has neither a padding nor an end-of-text token")
        return known

    @property
    def empty_ids(self) -> list[int]:
        """Token ids that stand for a text with no token left: start of text, or padding."""
        known = self._token_id("bos", "eos")
        return [self.pad_id if known is None else known]

    @property
    def mask_id(self) -> int:
        """Token id of an absent token: the mask token, or what stands in for it.

        Models without a mask token (GPT-2) get their unknown token, or else padding.
        """
        known = self.head.absent_id
        if known is None:
            known = self._token_id("mask", "unk")
        return self.pad_id if known is None else known

    def _token_id(self, *roles: str) -> int | None:
        ids = (getattr(self.tokenizer, f"{role}_token_id") for role in roles)
        return next((int(id) for id in ids if id is not None), None)

    def embed(self, token_ids: Sequence[int] | IntArray) -> torch.Tensor:
        """Return the (t, h) input embeddings of token ids, detached, on the device.

        Those of a token type hold what the type adds, so that models need not be told.
        """
        ids, types = self.split_types(token_ids)
        with torch.no_grad():
            table = self.model.get_input_embeddings()
            # A copy: torch has no arrays that cannot be written to.
            looked_up = table(torch.tensor(ids, dtype=torch.long, device=self.device))
            rows: torch.Tensor = looked_up[0] if isinstance(looked_up, tuple) else looked_up
            rows = rows.detach()  # a hook of a training may ask for gradients of them
            added = self._added(types)
        return rows if added is None else rows + added

    def split_types(self, token_ids: Sequence[int] | IntArray) -> tuple[IntArray, IntArray]:
        """Return vocabulary indices and token types of token ids; see :class:`Encoding`."""
        ids = np.asarray(token_ids)
        if self._types is None:
            return ids, np.zeros_like(ids)
        types, indices = np.divmod(ids, self.vocabulary_size)
        return indices, types

    def in_place_of(self, token_ids: IntArray, new: IntArray | int) -> IntArray:
        """Return vocabulary indices as ids of the types of those that they take the place of."""
        _, types = self.split_types(token_ids)
        return np.asarray(new + types * self.vocabulary_size)

    def without_types(self, rows: torch.Tensor, token_ids: IntArray) -> torch.Tensor:
        """Return (t, h) embeddings of tokens, or moved ones, without what token types add."""
        added = self._added(self.split_types(token_ids)[1])
        return rows if added is None else rows - added

    def _added(self, types: IntArray) -> torch.Tensor | None:
        """Return what token types add to embeddings; None where all are of the first."""
        if self._types is None or not types.any():
            return None
        steps = (self._types - self._types[0]).detach()
        return steps[torch.tensor(types, dtype=torch.long, device=self.device)]

    def probabilities(self, sequences: Sequence[Sequence[int] | IntArray]) -> FloatArray:
        """Return the (n, c) :attr:`Outputs.probabilities` of token ids; see :meth:`outputs`."""
        return self.outputs(sequences).probabilities

    def outputs(self, sequences: Sequence[Sequence[int] | IntArray]) -> Outputs:
        """Return what the model says of token-id sequences, special tokens included.

        Equal sequences are computed once. An empty one is represented by :attr:`empty_ids`.
        """
        keys = [tuple(int(i) for i in s) or tuple(self.empty_ids) for s in sequences]
        known = {} if self._known is None else self._known
        ids = [key for key in dict.fromkeys(keys) if key not in known]

        def build(batch: list[int], width: int) -> torch.Tensor:
            rows = [list(ids[i]) + [self.pad_id] * (width - len(ids[i])) for i in batch]
            return self.embed(np.array(rows))

        found = self.outputs_of([len(key) for key in ids], build)
        known.update(zip(ids, zip(*found, strict=True), strict=True))
        shape = len(keys), 2, self.n_classes
        return Outputs(*np.array([known[key] for key in keys]).reshape(shape).swapaxes(0, 1))

    def needs_fp32(self, sequences: Sequence[Sequence[int] | IntArray]) -> BoolArray:
        """Return (n,) whether texts must run in fp32, since their logits in fp16 are too far off.

        See :data:`HALF_BOUND`. None must where the model is not in fp16.
        """
        if self.fp32_twin is None:
            return np.zeros(len(sequences), dtype=bool)
        keys = [tuple(int(i) for i in sequence) for sequence in sequences]
        new = [key for key in dict.fromkeys(keys) if key not in self._needs_fp32]
        lengths = [len(key) for key in new]
        half, whole = (
            one._outputs(
                lengths,
                padded([one.embed(key) for key in new]),
                lambda logits: logits,
                columns=self.n_classes,
            )
            for one in (self, self.fp32_twin)
        )
        for key, differences in zip(new, np.abs(half - whole), strict=True):
            self._needs_fp32[key] = not bool((differences <= HALF_BOUND).all())
            self.refusals.update(["texts_in_fp32"] * self._needs_fp32[key])
        return np.array([self._needs_fp32[key] for key in keys], dtype=bool)

    def run_by_precision(
        self,
        sequences: Sequence[Sequence[int] | IntArray],
        run: Callable[[Classifier, list[int]], Iterable[Any]],
    ) -> list[Any]:
        """Run each text in its arithmetic: ``run`` returns a result of each of some positions."""
        needs = self.needs_fp32(sequences)
        results: dict[int, Any] = {}
        for classifier, own in ((self, ~needs), (self.fp32_twin, needs)):
            places = np.flatnonzero(own).tolist()
            if places and classifier is not None:
                results.update(zip(places, run(classifier, places), strict=True))
        return [results[place] for place in range(len(sequences))]

    def label_mass(self, sequences: Sequence[IntArray]) -> FloatArray | None:
        """Return the (n,) probability of all classes together, in [0, 1], by a whole vocabulary.

        None for models that can give nothing but classes.
        """
        if not self.head.answers_freely:
            return None
        rows = [self.embed(ids) for ids in sequences]
        build, result = padded(rows), np.empty(len(rows))

        def run(batch: list[int]) -> None:
            sizes = [len(rows[i]) for i in batch]
            with torch.inference_mode():
                width = max(sizes)
                last = torch.tensor(sizes, device=self.device) - 1
                places = torch.arange(width, device=self.device)
                mask = (places[None, :] <= last[:, None]).long()
                mass = self.head.mass(self.model, build(batch, width), mask, last)
                result[batch] = mass.cpu().numpy()

        self._run_batches([len(row) for row in rows], run)
        return result

    @contextlib.contextmanager
    def remembering(self) -> Iterator[None]:
        """Within the context, probabilities of a token-id sequence are computed once.

        For several metrics or methods of the same texts, which ask about many equal ones.
        """
        outer = self._known
        self._known = {} if outer is None else outer
        try:
            yield
        finally:
            self._known = outer

    def probabilities_from_embeddings(self, embeddings: Sequence[torch.Tensor]) -> FloatArray:
        """Return (n, c) class probabilities of (t, h) embeddings, before positions are added."""
        return self.forward([len(e) for e in embeddings], padded(embeddings))

    def forward(self, lengths: Sequence[int], build: Build) -> FloatArray:
        """Return the (n, c) :attr:`Outputs.probabilities` of inputs; see :meth:`outputs_of`."""
        return self.outputs_of(lengths, build).probabilities

    def outputs_of(self, lengths: Sequence[int], build: Build) -> Outputs:
        """Return what the model says of inputs that are made batch by batch.

        Args:
            lengths: (n,) rows of each input.
            build: makes the (b, width, h) embeddings of the inputs at the given positions; rows
                beyond an input's length are padding.

        Raises:
            ExparityError: a probability that is not finite.
        """

        def finish(logits: torch.Tensor) -> torch.Tensor:
            return torch.cat([self.head.probabilities(self.model, logits), logits], -1)

        result = self._outputs(lengths, build, finish, columns=2 * self.n_classes)
        probabilities, logits = np.hsplit(result, 2)  # views
        strays = np.flatnonzero(~np.isfinite(probabilities).all(1)).tolist()
        if strays and self.fp32_twin is not None:
            self.refusals["passes_in_fp32"] += len(strays)
            again = self.fp32_twin.outputs_of(
                [lengths[i] for i in strays],
                lambda batch, width: build([strays[i] for i in batch], width).float(),
            )
            result[strays] = np.hstack(again)
        if not np.isfinite(probabilities).all():
            raise ExparityError(
                "the model gives probabilities that are not finite; its training has diverged, or "
                "its numbers leave the range of their precision: use fp32, or train it again"
            )
        return Outputs(probabilities, logits)

    def _outputs(
        self,
        lengths: Sequence[int],
        build: Build,
        finish: Callable[[torch.Tensor], torch.Tensor],
        columns: int,
    ) -> FloatArray:
        """Return (n, columns) of what is made of the logits of inputs; see :meth:`outputs_of`."""
        result = np.empty((len(lengths), columns))

        def run(batch: list[int]) -> None:
            sizes = [lengths[i] for i in batch]
            with torch.inference_mode():
                result[batch] = finish(self.logits(build(batch, max(sizes)), sizes)).cpu().numpy()

        self._run_batches(lengths, run)
        return result

    def _run_batches(self, lengths: Sequence[int], run: Callable[[list[int]], None]) -> None:
        """Run forward passes of inputs of these lengths."""
        with self._evaluating():
            for _, fitting in in_batches(
                lengths, self.token_budget, run, exact=self.exact, memory=self._memory
            ):
                self.token_budget = fitting

    def input_gradients(
        self,
        lengths: Sequence[int],
        build: Build,
        targets: IntArray,
        objectives: Sequence[Objective] = (target_logit,),
    ) -> Iterator[Gradients]:
        """Differentiate functions of the logits with respect to input embeddings, batch by batch.

        Nothing but one batch is held, so that a caller decides what to keep of it. Several
        objectives share one forward pass.

        Args:
            lengths: (n,) rows of each input.
            build: see :meth:`forward`.
            targets: (n,) class index of each input.
            objectives: functions of (b, c) logits and (b,) targets to (b,) numbers.

        Yields:
            The position of an input, its (t, h) gradient of each objective and its (c,) logits.
        """
        if self.fp32_twin is not None:  # in fp16 those of a certain prediction vanish
            yield from self.fp32_twin.input_gradients(
                lengths, lambda batch, width: build(batch, width).float(), targets, objectives
            )
            return

        def run(batch: list[int]) -> list[Gradients]:
            sizes = [lengths[i] for i in batch]
            inputs = build(batch, max(sizes)).detach().requires_grad_(True)
            with torch.enable_grad():
                logits = self.logits(inputs, sizes)
                wanted = torch.as_tensor(targets[batch], device=self.device)
                gradients = []
                for position, objective in enumerate(objectives):
                    keep = position + 1 < len(objectives)
                    total = objective(logits, wanted).sum()
                    gradients.append(_gradient(total, inputs, keep))
            values = logits.detach().cpu().numpy()
            return [
                (position, tuple(g[place, :size] for g in gradients), values[place])
                for place, (position, size) in enumerate(zip(batch, sizes, strict=True))
            ]

        with self._evaluating(), self._frozen():
            budget = self.gradient_budget
            for results, fitting in in_batches(
                lengths, budget, run, exact=self.exact, memory=self._gradient_memory
            ):
                if fitting < budget:
                    self.token_budget = fitting * self._gradient_share
                yield from results

    def logits(self, embeddings: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return (b, c) float32 logits of one batch of (b, width, h), padded at the end.

        ``lengths`` says how many rows count.
        """
        count, width = embeddings.shape[:2]
        # The head takes care of itself (_steady_head); a shortened last layer has as few rows.
        fewest = _FEWEST_ROWS if self.shortcuts else -(-_FEWEST_ROWS // width)
        if self.exact and count < fewest:  # bits must not depend on the batch
            extra = embeddings[:1].expand(fewest - count, -1, -1)
            embeddings = torch.cat([embeddings, extra])
            lengths = [*lengths, *[lengths[0]] * len(extra)]
        sizes = torch.as_tensor(lengths, device=self.device)
        # Without padding there is nothing to mask, and attention is faster for it.
        mask = None
        if min(lengths) < width:
            mask = (torch.arange(width, device=self.device)[None, :] < sizes[:, None]).long()
        shorten = self.shortcuts and not self.head.frame.pads
        shortcut = pooled_position_only(self.model, lengths) if shorten else nullcontext()
        with shortcut:
            logits = self.head.logits(self.model, embeddings, mask, sizes - 1)
        result: torch.Tensor = logits.float()[:count].to(self.device)
        return result

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Run the model in evaluation mode, on the fastest layers, and restore it."""
        # Most often none; `eval` alone would go through all modules for each batch.
        in_training = [module for module in self.model.modules() if module.training]
        if in_training:
            self.model.eval()
        try:
            with nullcontext() if self._layers is None else self._layers.in_use():
                yield
        finally:
            for module in in_training:
                module.training = True

    @contextlib.contextmanager
    def _frozen(self) -> Iterator[None]:
        """Spare the gradients of weights: only those of inputs are asked for."""
        before = [(p, p.requires_grad) for p in self.model.parameters()]
        for parameter, _ in before:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter, flag in before:
                parameter.requires_grad_(flag)


def _gradient(total: torch.Tensor, inputs: torch.Tensor, keep: bool) -> torch.Tensor:
    """Return the gradient of a total; keep what another one needs."""
    try:
        (gradient,) = torch.autograd.grad(total, inputs, retain_graph=keep)
    except (AssertionError, NotImplementedError) as error:  # Reformer, in evaluation mode
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ExparityError(
            f"the model has no gradients ({reason}); take a method that asks for probabilities "
            "alone, such as lime, shap or occlusion"
        ) from error
    return gradient


def _gradient_share(model: PreTrainedModel, device: torch.device) -> int:
    """Return by how much a batch is smaller for a backward pass, which keeps every activation.

    On a CPU those of narrow models fit its cache in larger batches too, which cost less a token
    (1.4 to 2 times less at 64 units, nothing at 768).
    """
    most = 4
    if device.type != "cpu":
        return most
    units = getattr(model.config, "hidden_size", 768)
    return min(most, max(1, units // 192))


def padded(embeddings: Sequence[torch.Tensor]) -> Build:
    """Return a builder of batches that pads (t, h) matrices with zero rows."""

    def build(batch: list[int], width: int) -> torch.Tensor:
        rows = pad_sequence([embeddings[i] for i in batch], batch_first=True)
        assert rows.shape[1] == width
        return rows

    return build


def _steady_head(model: PreTrainedModel) -> None:
    """Have a classification head compute a few rows more where it gets very few.

    Layers see every token of a batch, but the head sees one row a text, and a text alone would get
    other bits than in company. Rows beyond those asked for are zero, and cut off again.
    """
    for name, module in model.named_modules():
        in_stack = any(part.isdigit() for part in name.split("."))
        if isinstance(module, torch.nn.Linear) and not in_stack and not module._forward_hooks:
            module.register_forward_pre_hook(_fill)
            module.register_forward_hook(_cut)


def _fill(module: Any, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    rows = inputs[0]
    module.rows_asked_for = len(rows)
    if len(rows) >= _FEWEST_ROWS or rows.ndim != 2:
        return inputs
    return (F.pad(rows, (0, 0, 0, _FEWEST_ROWS - len(rows))), *inputs[1:])


def _cut(module: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
    return output[: module.rows_asked_for]
