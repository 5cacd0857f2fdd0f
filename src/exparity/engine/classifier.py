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
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import torch

from exparity.core.calls import checked_value
from exparity.core.errors import ExparityError, InputError, reason_of
from exparity.core.undisturbed import one_at_a_time, undisturbed
from exparity.engine.attention import quick_attention
from exparity.engine.batching import (
    Build,
    MemoryBound,
    default_budget,
    gradient_share,
    in_batches,
    padded,
)
from exparity.engine.encoding import as_list
from exparity.engine.kernels import FEWEST_ROWS, layers_of
from exparity.engine.known_rows import KnownRows
from exparity.engine.objectives import Objective, Outputs, objective_of, target_logit
from exparity.engine.shortcuts import check_family, pooled_position_only
from exparity.engine.tokens import TokenEmbeddings
from exparity.models.class_names import class_index
from exparity.models.encoders import encoder_logits
from exparity.models.families import ENCODERS
from exparity.models.heads import SEQUENCE, Head, new_head
from exparity.models.inputs import token_types
from exparity.models.lookup import EmbeddedBatch, Frame, with_values
from exparity.models.placement import is_spread, require_whole, without_gradients
from exparity.types import BoolArray, FloatArray, IntArray, Text, TextLike

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Gradients = tuple[int, torch.Tensor, FloatArray]
Result = TypeVar("Result")

_ID_BYTES = np.dtype(np.int64).itemsize
_OF_LIBRARIES = {"torch", "transformers", "peft", "exparity"}
HALF_BOUND = 0.05
"""Largest difference of a text's logits in fp16 from those in fp32; beyond it fp32 is taken."""


class Classifier(TokenEmbeddings):
    """A transformers model with a classification head and its fast tokenizer on one device.

    Made by :func:`~exparity.engine.loading.load_classifier`, which explains its arguments.

    Attributes:
        model: the model of transformers.
        tokenizer: its tokenizer.
        class_names: (c,) names of the classes, in the order of the logits.
        device: where it runs.
        max_length: longest input, in tokens; longer texts are cut.
        token_budget: padded tokens of a batch, at most.

    Raises:
        InputError: shortcuts are asked for and not known for this family of models.

    Examples:
        >>> import exparity
        >>> classifier = exparity.load_classifier("model")  # a folder with a fine-tuned BERT
        >>> classifier.n_classes, classifier.class_names
        (2, ('female', 'male'))
        >>> classifier.predict_proba(["she is tired", "he is tired"]).shape
        (2, 2)
    """

    is_black_box = False
    """Whether it only answers, and has no weights, gradients or embeddings."""
    shortcuts = False
    is_compared = False
    """Whether it was compared with the plain model; see :func:`preflight.check_function`."""
    loaded_from = ""
    """What tells it from any other classifier of a run, if a job has loaded it."""
    fp32_twin: Classifier | None = None
    """The same model in fp32, if this one is in fp16."""
    _known: KnownRows[bytes] | None = None

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
            require_whole(model, "shortcuts")
        self.shortcuts = shortcuts
        self.refusals = Counter[str]()  # texts and passes in fp32, since the last reading
        self._needs_fp32: dict[tuple[int, ...], bool] = {}
        # What accelerate has spread over devices moves its inputs itself, and is not to be moved.
        if not is_spread(model):
            model.to(device)  # type: ignore[arg-type]
        self.model = model
        self.model.eval()
        # What a caller runs: of an adapter, the model of peft.
        self.outermost: torch.nn.Module = model
        self.tokenizer = tokenizer
        self.head = head or new_head(SEQUENCE)
        self.class_names = self.head.class_names(model.config)
        self.device = device
        self.max_length = max_length
        self.token_budget = token_budget or default_budget(model, device)
        self._gradient_share = gradient_share(model, device)
        # A user's budget is taken as it is.
        bounded = device.type == "cuda" and token_budget is None
        self._memory = MemoryBound(device) if bounded else None
        self._gradient_memory = MemoryBound(device) if bounded else None
        # On a CPU only texts of one length share a batch: nothing is padded, and a result has the
        # same bits in any batch. A GPU is better served by fewer, padded ones, where the model
        # leaves padding out of its sums (see preflight.check_function).
        self.exact = device.type == "cpu"
        self.layers = layers_of(model, device)
        self._needs_mask = _has_own_code(model)
        self._types = token_types(model)
        self.head.frame = Frame.of(model, tokenizer, typed=self._types is None)

    @one_at_a_time
    def with_random_weights(self, seed: int) -> Classifier:
        """Return a classifier like this, with random weights, as its architecture draws them.

        They are drawn on the CPU, so that a seed gives the same ones on every device.

        Args:
            seed: of the draw, 0 or more.

        Raises:
            InputError: the weights are spread over devices.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> control = classifier.with_random_weights(seed=1)
            >>> control.class_names
            ('female', 'male')
        """
        require_whole(self.model, "random weights")
        if self.fp32_twin is not None:
            return self.fp32_twin.with_random_weights(seed).in_fp16()
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            model = type(self.model)(copy.deepcopy(self.model.config))
        model.to(self.model.dtype)  # type: ignore[arg-type]
        return self._like(model)

    @one_at_a_time
    def in_fp16(self) -> Classifier:
        """Return this fp32 classifier with passes in fp16, where its range allows that.

        Raises:
            InputError: the weights are spread over devices.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> str(classifier.in_fp16().model.dtype)
            'torch.float16'
        """
        require_whole(self.model, "precision fp16")
        half = self._like(copy.deepcopy(self.model).half())
        half.fp32_twin = self
        return half

    @one_at_a_time
    def anew(self) -> Classifier:
        """Return a classifier of this model without memory of texts or of batches.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> classifier.anew().model is classifier.model
            True
        """
        twin = self._like(self.model)
        twin.exact = self.device.type == "cpu"
        twin.outermost = self.outermost
        twin.loaded_from = self.loaded_from
        twin.fp32_twin = self.fp32_twin and self.fp32_twin.anew()
        return twin

    def _like(self, model: PreTrainedModel) -> Classifier:
        new = Classifier(
            model,
            self.tokenizer,
            head=self.head,
            device=self.device,
            max_length=self.max_length,
            token_budget=None if self._memory else self.token_budget,
            shortcuts=self.shortcuts,
        )
        new.exact = self.exact
        return new

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def classes_are_exclusive(self) -> bool:
        """Whether a text has one of the classes, so that their probabilities add up to 1."""
        return self.head.are_exclusive(self.model)

    def class_index(self, target: int | str) -> int:
        """Return the index of a class, from its index or its name.

        Args:
            target: index from 0, or name in ``class_names``.

        Raises:
            InputError: there is no such class.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> classifier.class_index("male"), classifier.class_index(0)
            (1, 0)
        """
        names = self.class_names
        if isinstance(target, str):
            return class_index(target, names, f"target '{target}'")
        index = checked_value(target, int, "target")
        if not 0 <= index < self.n_classes:
            raise InputError(
                f"target {index}: the model has {self.n_classes} classes, 0 to {self.n_classes - 1}"
            )
        return index

    def objective(self, explains: str | Mapping[Literal["against"], str]) -> Objective:
        """Return the function of logits and targets that ``explains`` names.

        Args:
            explains: ``logit`` or ``log_odds`` of the target; ``auto`` for the log odds of prompted
                models and else the logit; ``{"against": NAME}`` for its logit less that of a class.

        Returns:
            A function of (b, c) logits and (b,) targets that returns (b,) numbers.

        Raises:
            InputError: there is no such function or class.

        Examples:
            >>> import torch
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> margin = classifier.objective({"against": "female"})
            >>> margin(torch.tensor([[1.0, 3.0]]), torch.tensor([1]))
            tensor([2.])
        """
        return objective_of(explains, self.class_names, in_words=self.head.answers_freely)

    def predict_proba(self, texts: str | Text | Sequence[TextLike]) -> FloatArray:
        """Return the (n, c) probabilities of the classes of texts, in [0, 1], a row for each text.

        Args:
            texts: strings, lists of words, :class:`exparity.Text` or pairs, as
                :func:`exparity.explain` takes them; columns are as in ``class_names``.

        Raises:
            InputError: a text is empty.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> probabilities = classifier.predict_proba(["she is tired", "he is tired"])
            >>> probabilities.sum(axis=1).round(3).tolist()
            [1.0, 1.0]
        """
        encodings = self.encode(as_list(texts))
        return self.probabilities([encoding.token_ids for encoding in encodings])

    def probabilities(self, sequences: Sequence[Sequence[int] | IntArray]) -> FloatArray:
        """Return the (n, c) :attr:`Outputs.probabilities` of token ids; see :meth:`outputs`.

        Args:
            sequences: n sequences of (t,) token ids, special tokens included.

        Raises:
            ExparityError: a probability is not finite.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> encodings = classifier.encode(["she is tired", "he is tired"])
            >>> classifier.probabilities([encoding.token_ids for encoding in encodings]).shape
            (2, 2)
        """
        return self.outputs(sequences).probabilities

    @one_at_a_time
    def outputs(self, sequences: Sequence[Sequence[int] | IntArray]) -> Outputs:
        """Return the outputs for token-id sequences; an empty one is :attr:`empty_ids`.

        Args:
            sequences: n sequences of (t,) token ids, special tokens included.

        Returns:
            (n, c) probabilities in [0, 1], and (n, c) logits.

        Raises:
            ExparityError: a probability is not finite.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is tired"])
            >>> outputs = classifier.outputs([encoding.token_ids, []])  # a text, and the empty text
            >>> outputs.probabilities.shape, outputs.logits.shape
            ((2, 2), (2, 2))
        """
        empty = np.array(self.empty_ids, dtype=np.int64).tobytes()
        # As bytes: tuples of numbers take several times as long to make and to look up.
        keys = [np.asarray(s, dtype=np.int64).tobytes() or empty for s in sequences]
        remembered = self._nothing_known() if self._known is None else self._known
        ids = [key for key in dict.fromkeys(keys) if key not in remembered.row_of]
        lengths = [len(key) // _ID_BYTES for key in ids]

        def build(batch: list[int], width: int) -> torch.Tensor:
            padding = np.int64(self.pad_id).tobytes()
            rows = b"".join(ids[i] + padding * (width - lengths[i]) for i in batch)
            return self.embed(np.frombuffer(rows, dtype=np.int64).reshape(len(batch), width))

        computed = np.stack(self.outputs_of(lengths, build), axis=1)
        remembered.add(ids, computed)
        return Outputs(*remembered.table[[remembered.row_of[key] for key in keys]].swapaxes(0, 1))

    def _nothing_known(self) -> KnownRows[bytes]:
        """Return room for the (2, c) probabilities and logits of token ids, by their bytes."""
        return KnownRows(np.zeros((0, 2, self.n_classes)))

    @one_at_a_time
    def needs_fp32(self, sequences: Sequence[Sequence[int] | IntArray]) -> BoolArray:
        """Return (n,) whether texts must run in fp32, by :data:`HALF_BOUND`; none without fp16.

        Args:
            sequences: n sequences of (t,) token ids.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is tired"])
            >>> classifier.needs_fp32([encoding.token_ids]).tolist()  # this classifier is in fp32
            [False]
        """
        if self.fp32_twin is None:
            return np.zeros(len(sequences), dtype=bool)
        keys = [tuple(int(i) for i in sequence) for sequence in sequences]
        new = [key for key in dict.fromkeys(keys) if key not in self._needs_fp32]
        in_fp16 = self._logits_of_ids(new)
        in_fp32 = self.fp32_twin._logits_of_ids(new)
        for key, differences in zip(new, np.abs(in_fp16 - in_fp32), strict=True):
            self._needs_fp32[key] = not bool((differences <= HALF_BOUND).all())
            self.refusals.update(["texts_in_fp32"] * self._needs_fp32[key])
        return np.array([self._needs_fp32[key] for key in keys], dtype=bool)

    def _logits_of_ids(self, sequences: Sequence[tuple[int, ...]]) -> FloatArray:
        """Return the (n, c) logits of token-id sequences."""
        lengths = [len(sequence) for sequence in sequences]
        build = padded([self.embed(sequence) for sequence in sequences])
        return self._computed(lengths, build, self.logits, self.n_classes)

    def run_by_precision(
        self,
        sequences: Sequence[Sequence[int] | IntArray],
        run: Callable[[Classifier, list[int]], Iterable[Result]],
    ) -> list[Result]:
        """Call ``run`` once for the texts in this precision, once for those that need fp32.

        Args:
            sequences: n sequences of (t,) token ids.
            run: takes a classifier and the positions of its texts, and returns a result for each.

        Returns:
            n results in the order of ``sequences``.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> ids = [encoding.token_ids for encoding in classifier.encode(["she is tired"])]
            >>> def lengths(chosen, places):
            ...     return [len(ids[place]) for place in places]
            >>> classifier.run_by_precision(ids, lengths) == [len(ids[0])]
            True
        """
        needs = self.needs_fp32(sequences)
        results: dict[int, Result] = {}
        for classifier, runs_here in ((self, ~needs), (self.fp32_twin, needs)):
            places = np.flatnonzero(runs_here).tolist()
            if places and classifier is not None:
                results.update(zip(places, run(classifier, places), strict=True))
        return [results[place] for place in range(len(sequences))]

    @one_at_a_time
    def label_mass(self, sequences: Sequence[IntArray]) -> FloatArray | None:
        """Return the (n,) probability of all classes together, in [0, 1], by a whole vocabulary.

        None for models that can give nothing but classes.

        Args:
            sequences: n sequences of (t,) token ids.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is tired"])
            >>> classifier.label_mass([encoding.token_ids]) is None  # this model only gives classes
            True
        """
        if not self.head.answers_freely:
            return None

        def mass(embeddings: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
            last = torch.tensor(lengths, device=self.device) - 1
            mask = self._padding_mask(lengths, embeddings.shape[1])
            return self.head.mass(self.model, EmbeddedBatch(embeddings, mask, last))[:, None]

        rows = [self.embed(ids) for ids in sequences]
        return self._computed([len(row) for row in rows], padded(rows), mass, 1)[:, 0]

    @contextlib.contextmanager
    def remembering(self) -> Iterator[None]:
        """Within the context, compute the probabilities of a token-id sequence once.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> with classifier.remembering():
            ...     first = classifier.predict_proba(["she is tired"])
            ...     again = classifier.predict_proba(["she is tired"])  # the model does not run
            >>> (first == again).all().item()
            True
        """
        with undisturbed(self.lock):
            remembered = self._nothing_known() if self._known is None else self._known
            with with_values(self, {"_known": remembered}):
                yield

    def forward(self, lengths: Sequence[int], build: Build) -> FloatArray:
        """Return the (n, c) :attr:`Outputs.probabilities` of inputs; see :meth:`outputs_of`.

        Args:
            lengths: (n,) rows of each input.
            build: makes the embeddings of some inputs; see :meth:`outputs_of`.

        Raises:
            ExparityError: a probability is not finite.

        Examples:
            >>> from torch.nn.utils.rnn import pad_sequence
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> encodings = classifier.encode(["she is tired", "he is"])
            >>> rows = [classifier.embed(encoding.token_ids) for encoding in encodings]
            >>> def build(positions, width):
            ...     return pad_sequence([rows[i] for i in positions], batch_first=True)
            >>> classifier.forward([len(row) for row in rows], build).shape
            (2, 2)
        """
        return self.outputs_of(lengths, build).probabilities

    @one_at_a_time
    def outputs_of(self, lengths: Sequence[int], build: Build) -> Outputs:
        """Return the outputs for inputs that are built batch by batch.

        Args:
            lengths: (n,) rows of each input.
            build: takes the positions of b inputs and a width, and makes their (b, width, h)
                embeddings; rows beyond an input's length are padding.

        Returns:
            (n, c) probabilities in [0, 1], and (n, c) logits.

        Raises:
            ExparityError: a probability is not finite.

        Examples:
            >>> from torch.nn.utils.rnn import pad_sequence
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> encodings = classifier.encode(["she is tired", "he is"])
            >>> rows = [classifier.embed(encoding.token_ids) for encoding in encodings]
            >>> def build(positions, width):
            ...     return pad_sequence([rows[i] for i in positions], batch_first=True)
            >>> classifier.outputs_of([len(row) for row in rows], build).logits.shape
            (2, 2)
        """

        def both(embeddings: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
            logits = self.logits(embeddings, sizes)
            return torch.cat([self.head.probabilities(self.model, logits), logits], -1)

        result = self._computed(lengths, build, both, columns=2 * self.n_classes)
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

    def _computed(
        self,
        lengths: Sequence[int],
        build: Build,
        compute: Callable[[torch.Tensor, Sequence[int]], torch.Tensor],
        columns: int,
    ) -> FloatArray:
        """Return (n, columns) results of ``compute`` on (b, width, h) batches and their lengths."""
        result = np.empty((len(lengths), columns))

        def run(batch: list[int]) -> None:
            sizes = [lengths[i] for i in batch]
            result[batch] = compute(build(batch, max(sizes)), sizes).cpu().numpy()

        with self.evaluating(), without_gradients(self.model):
            for _, fitting in in_batches(
                lengths, self.token_budget, run, exact=self.exact, memory=self._memory
            ):
                self.token_budget = fitting
        return result

    def input_gradients(
        self,
        lengths: Sequence[int],
        build: Build,
        targets: IntArray,
        objective: Objective = target_logit,
    ) -> Iterator[Gradients]:
        """Differentiate a function of the logits with respect to input embeddings, batch by batch.

        Args:
            lengths: (n,) rows of each input.
            build: makes the embeddings of some inputs; see :meth:`outputs_of`.
            targets: (n,) index of each input's class.
            objective: function of (b, c) logits and (b,) targets that returns (b,) numbers.

        Yields:
            The position of an input, its (t, h) gradient, in the objective's unit per unit of
            embedding, and its (c,) logits. No more than one batch is held.

        Raises:
            ExparityError: the model has no gradients.
            InputError: it was loaded in ``torch.inference_mode``.

        Examples:
            >>> import numpy as np
            >>> from torch.nn.utils.rnn import pad_sequence
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> encodings = classifier.encode(["she is tired", "he is"])
            >>> rows = [classifier.embed(encoding.token_ids) for encoding in encodings]
            >>> def build(positions, width):
            ...     return pad_sequence([rows[i] for i in positions], batch_first=True)
            >>> lengths, targets = [len(row) for row in rows], np.array([0, 1])
            >>> for place, gradient, logits in classifier.input_gradients(lengths, build, targets):
            ...     assert gradient.shape == rows[place].shape
        """
        if self.fp32_twin is not None:  # in fp16 those of a certain prediction vanish
            yield from self.fp32_twin.input_gradients(
                lengths, lambda batch, width: build(batch, width).float(), targets, objective
            )
            return

        def run(batch: list[int]) -> list[Gradients]:
            sizes = [lengths[i] for i in batch]
            # Between batches the model is as it was: who asks may stop, or run it otherwise.
            with undisturbed(self.lock), self.evaluating(gradients=True), self._frozen():
                inputs = build(batch, max(sizes)).detach()
                inputs = inputs.clone() if inputs.is_inference() else inputs
                inputs.requires_grad_(True)
                with torch.enable_grad():
                    logits = self.logits(inputs, sizes)
                    batch_targets = torch.as_tensor(targets[batch], device=self.device)
                    gradients = _gradient(objective(logits, batch_targets).sum(), inputs)
            values = logits.detach().cpu().numpy()
            return [
                (position, gradients[place, :size], values[place])
                for place, (position, size) in enumerate(zip(batch, sizes, strict=True))
            ]

        budget = max(1, self.token_budget // self._gradient_share)
        for results, fitting in in_batches(
            lengths, budget, run, exact=self.exact, memory=self._gradient_memory
        ):
            if fitting < budget:
                self.token_budget = fitting * self._gradient_share
            yield from results

    def logits(self, embeddings: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return (b, c) float32 logits of one batch of (b, width, h), padded at the end.

        Args:
            embeddings: (b, width, h) inputs.
            lengths: (b,) rows of each without padding.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is tired"])
            >>> batch = classifier.embed(encoding.token_ids)[None]  # (1, t, h)
            >>> tuple(classifier.logits(batch, [len(encoding)]).shape)
            (1, 2)
        """
        count, width = embeddings.shape[:2]
        # Linear layers take care of themselves; some models have other products of all rows.
        fewest = -(-FEWEST_ROWS // width)
        if self.exact and count < fewest:  # bits must not depend on the batch
            extra = embeddings[:1].expand(fewest - count, -1, -1)
            embeddings = torch.cat([embeddings, extra])
            lengths = [*lengths, *[lengths[0]] * len(extra)]
        sizes = torch.as_tensor(lengths, device=self.device)
        # Without padding there is nothing to mask, and attention is faster for it.
        with_mask = min(lengths) < width or self._needs_mask
        mask = self._padding_mask(lengths, width) if with_mask else None
        shorten = self.shortcuts and not self.head.frame.pads
        if shorten and self.model.config.model_type in ENCODERS:
            logits = encoder_logits(self.model, mask, inputs_embeds=embeddings)
        else:
            shortcut = pooled_position_only(self.model, lengths) if shorten else nullcontext()
            with shortcut:
                logits = self.head.logits(self.model, EmbeddedBatch(embeddings, mask, sizes - 1))
        result: torch.Tensor = logits.float()[:count].to(self.device)
        return result

    def _padding_mask(self, lengths: Sequence[int], width: int) -> torch.Tensor:
        """Return the (b, width) mask: 1 for rows of a text, 0 for padding."""
        sizes = torch.as_tensor(lengths, device=self.device)
        return (torch.arange(width, device=self.device)[None, :] < sizes[:, None]).long()

    @contextlib.contextmanager
    def evaluating(self, *, gradients: bool = False) -> Iterator[None]:
        """Run the model in evaluation mode, on the fastest layers, and restore it.

        Args:
            gradients: whether gradients are taken within the context.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is tired"])
            >>> with classifier.evaluating():  # no dropout
            ...     batch = classifier.embed(encoding.token_ids)[None]
            ...     logits = classifier.logits(batch, [len(encoding)])
        """
        packed = self.layers
        layers = nullcontext() if packed is None else packed.in_use(gradients=gradients)
        attention = nullcontext() if packed is None else quick_attention()
        with in_evaluation(self.model), layers, attention:
            yield

    @contextlib.contextmanager
    def _frozen(self) -> Iterator[None]:
        """Spare the gradients of weights: only those of inputs are asked for."""
        if any(weight.is_inference() for weight in self.model.parameters()):
            raise InputError(
                "the model was made or loaded in torch.inference_mode, so that it has no "
                "gradients; load it outside"
            )
        before = [(p, p.requires_grad) for p in self.model.parameters()]
        for parameter, _ in before:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter, flag in before:
                parameter.requires_grad_(flag)


def _has_own_code(model: torch.nn.Module) -> bool:
    """Return whether modules are of classes that transformers does not have.

    Its own take no mask as one that masks nothing; others may well compute with the mask.
    """
    packages = {type(module).__module__.partition(".")[0] for module in model.modules()}
    patched = any("forward" in vars(module) for module in model.modules())
    return patched or not packages <= _OF_LIBRARIES


@contextlib.contextmanager
def in_evaluation(model: torch.nn.Module) -> Iterator[None]:
    """Within the context, a model is in evaluation mode."""
    # Most often none; `eval` alone would go through all modules for each batch.
    in_training = [module for module in model.modules() if module.training]
    if in_training:
        model.eval()
    try:
        yield
    finally:
        for module in in_training:
            module.training = True


def _gradient(total: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Return the gradient of a total."""
    try:
        (gradient,) = torch.autograd.grad(total, inputs)
    except (AssertionError, NotImplementedError) as error:  # Reformer, in evaluation mode
        raise ExparityError(
            f"the model has no gradients ({reason_of(error)}); take a method that asks for "
            "probabilities alone, such as lime, shap or occlusion"
        ) from error
    return gradient
