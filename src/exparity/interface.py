"""Data types that every other module may import; this one imports nothing of exparity but checks.

Axis letters used throughout the package: ``n`` examples, ``t`` tokens, ``k`` steps, ``c`` classes,
``h`` hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exparity.core import alignment
from exparity.core.calls import array_of, listed, plain, shown
from exparity.core.errors import InputError
from exparity.core.flags import Count as Count
from exparity.core.flags import NotNegative as NotNegative
from exparity.core.flags import Positive as Positive
from exparity.core.flags import Range as Range
from exparity.core.flags import Share as Share

if TYPE_CHECKING:
    import pandas as pd

    from exparity.engine.classifier import Classifier

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


Text = str | Sequence[str] | tuple[str | Sequence[str], str | Sequence[str]]
"""A text, or its words; a tuple of two of these is a pair of texts."""
Words = list[str] | tuple[list[str], list[str]]
"""The words of a text, or of both texts of a pair."""
Guarded = TypeVar("Guarded")

SPECIAL_WORD = -1
"""Word index of a token that belongs to no word ([CLS], [SEP], <s>, ...)."""
FRAME_WORD = -2
"""Word index of a token of the prompt around a text, which nothing masks, moves or scores."""


def locked(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array that cannot be written to; one that was given stays as it is."""
    view = np.asarray(values).view()
    view.setflags(write=False)
    return view


def guarded(item: Guarded) -> Guarded:
    """Return an object for plug-ins to read: a copy whose arrays are locked."""
    twin = copy(item)
    for name, value in vars(twin).items():
        if isinstance(value, np.ndarray):
            object.__setattr__(twin, name, locked(value))  # also where it is frozen
    return twin


def first_stray(values: FloatArray, bounds: Sequence[float]) -> int | None:
    """Return where the first value is infinite or outside bounds by more than rounding, if any."""
    low, high = bounds
    slack = 1e-9 * max([1.0, *(abs(bound) for bound in bounds if np.isfinite(bound))])
    strays = np.flatnonzero(np.isinf(values) | (values < low - slack) | (values > high + slack))
    return int(strays[0]) if strays.size else None


@dataclass(frozen=True)
class Example:
    """One labelled text, or pair of texts.

    Attributes:
        example_id: unique within its dataset.
        words: the text as words; ``text`` is these joined by single blanks.
        label: class index, from 0.
        group: value of the protected attribute.
        split: ``train`` or ``test``.
        match_id: the matched set it belongs to (a male/female pair, say), or None.
        rationale: 0/1 per word, 1 where the word carries the label, those of a second text after
            those of the first; None where unknown.
        attributes: further facts about the example.
        words_b: the second text of a pair, such as the hypothesis of a premise; None of one text.
    """

    example_id: str
    words: tuple[str, ...]
    label: int
    group: str
    split: Literal["train", "test"]
    match_id: str | None = None
    rationale: tuple[int, ...] | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    words_b: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The words joined by single blanks; of a pair, those of the first text."""
        return " ".join(self.words)

    @property
    def all_words(self) -> tuple[str, ...]:
        """The words, and after them those of the second text of a pair."""
        return self.words + (self.words_b or ())

    @property
    def pair(self) -> tuple[str, str] | None:
        """Both texts of a pair, each with its words joined by single blanks; None of one text."""
        return None if self.words_b is None else (self.text, " ".join(self.words_b))

    @property
    def parts(self) -> Words:
        """The text as it is encoded: its words, or of a pair those of both texts."""
        if self.words_b is None:
            return list(self.words)
        return list(self.words), list(self.words_b)


@dataclass(frozen=True)
class Encoding:
    """A text, or a pair of texts, as the model sees it.

    Attributes:
        text: the text; of a pair both, and between them the tokens that part them.
        token_ids: (t,) vocabulary indices, special tokens included. A model that tells the texts of
            a pair by token types knows a token of type k as ``index + k × rows of its table of
            embeddings``, so that no token loses its type where others are removed or replaced.
        tokens: (t,) their names in the vocabulary.
        word_ids: (t,) index of the word each token starts in; −1 for special tokens, −2 for those
            of a prompt around the text. The words of a second text are numbered on from those of
            the first.
        special_mask: (t,) True for special tokens and those of a prompt.
        truncated: True if the text was longer than the model's limit.
        offsets: (t, 2) span of each token in the text, in characters.
        pair: both texts of a pair; None of one text.
    """

    text: str
    token_ids: IntArray
    tokens: tuple[str, ...]
    word_ids: IntArray
    special_mask: BoolArray
    truncated: bool = False
    offsets: IntArray | None = None
    pair: tuple[str, str] | None = None

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def frame_mask(self) -> BoolArray:
        """(t,) True for tokens of a prompt around the text."""
        return np.asarray(self.word_ids == FRAME_WORD)


@dataclass(frozen=True)
class Origin:
    """What made an explanation, so that a metric can make another in the same way.

    Attributes:
        method: registered id.
        params: its options.
        seed: the run's seed.
        key: what the text's random draws are keyed by.
    """

    method: str
    params: Mapping[str, Any]
    seed: int
    key: str


@dataclass(frozen=True, eq=False)
class Explanation:
    """One attribution score per token of one text, for one target class.

    Build it from scores of any origin with :meth:`from_words`, :meth:`from_tokens`,
    :meth:`from_captum` or :meth:`from_shap`; or by hand. Token ids are needed only by metrics that
    run the model.

    Attributes:
        text: the text.
        target: class index that the scores explain.
        token_ids: (t,) as in :class:`Encoding`, or None if the scores come from elsewhere.
        tokens: (t,) token strings.
        scores: (t,) raw, signed attributions, as given.
        special_mask: (t,) True for special tokens; those of words below 0 if None. Where neither
            says, :func:`exparity.evaluate` asks the classifier's tokenizer; without one none is
            special.
        word_ids: (t,) word index per token, −1 for special tokens, −2 for those of a prompt; one
            word a token if None.
        origin: what made it; None if it was built by hand.
        rationale: (w,) 0/1 per word of the text, 1 where the word carries the label; None where
            unknown. Words that no token belongs to, as the text was cut, count as well.
        changed_words: (w,) 0/1 per word of the text, 1 where a counterfactual of another group has
            another word; None where unknown.
        pair: both texts of a pair, whose words are numbered on; None of one text.
        target_name: name of the class, for people; None where unknown.

    Raises:
        InputError: the lengths disagree, there is no token, or the rationale or the changed words
            do not fit.
    """

    text: str
    target: int
    token_ids: IntArray | None = None
    tokens: Sequence[str] = ()
    scores: FloatArray = field(default_factory=lambda: np.zeros(0))
    special_mask: BoolArray | None = None
    word_ids: IntArray | None = None
    origin: Origin | None = None
    rationale: Sequence[int] | BoolArray | None = None
    changed_words: Sequence[int] | BoolArray | None = None
    pair: tuple[str, str] | None = None
    target_name: str | None = None

    def __post_init__(self) -> None:
        plain(self.text, str, "text")
        of = f"explanation of {self.text!r}: "
        if not (self.origin is None or isinstance(self.origin, Origin)):
            raise InputError(f"{of}origin must be what exparity.explain wrote, or None")
        if not (self.pair is None or is_pair(self.pair)):
            raise InputError(f"{of}pair must be a tuple of two texts, not {shown(self.pair)}")
        scores = array_of(float, self.scores, f"{of}scores")
        if not scores.size:
            raise InputError(f"{of}scores must be a non-empty list of numbers, one a token")
        special = None
        if self.special_mask is not None:
            special = array_of(bool, self.special_mask, f"{of}special_mask")
        if self.word_ids is None:
            content = np.ones(scores.size, bool) if special is None else ~special
            words = np.where(content, np.cumsum(content) - 1, SPECIAL_WORD)
        else:
            words = array_of(int, self.word_ids, f"{of}word_ids")
            if (words < FRAME_WORD).any():
                raise InputError(
                    f"{of}word_ids must be word numbers, -1 for special tokens, or -2 for those of "
                    "a prompt"
                )
            if special is None and (words < 0).any():
                special = words < 0
        ids = None if self.token_ids is None else array_of(int, self.token_ids, f"{of}token_ids")
        tokens = tuple(
            token if type(token) is str else plain(token, str, f"{of}token")
            for token in listed(self.tokens, "tokens", "text")
        )
        columns = {"tokens": tokens, "special_mask": special, "word_ids": words, "token_ids": ids}
        for name, value in columns.items():
            if value is not None and len(value) != scores.size:
                raise InputError(
                    f"{of}{len(value)} {name} but {scores.size} scores; give one of each per token"
                )
        settled = {**columns, "scores": scores, "target": plain(self.target, int, f"{of}target")}
        for name in ("rationale", "changed_words"):
            marks = getattr(self, name)
            if marks is not None:
                settled[name] = _marks(of, marks, int(words.max()) + 1, name)
        for name, value in settled.items():
            object.__setattr__(self, name, value)  # frozen: normalised once, here

    def __len__(self) -> int:
        return len(self.scores)

    @classmethod
    def from_words(
        cls,
        classifier: Classifier,
        text: Text,
        scores: Sequence[float] | FloatArray,
        target: int | str,
        **facts: Any,
    ) -> Explanation:
        """Build an explanation from one score for each word, shared evenly by its tokens.

        Args:
            classifier: whose tokenizer tells tokens, ids and special ones.
            text: the text, or its words; a tuple of two for a pair.
            scores: (w,) one for each word.
            target: index or name of the class that the scores explain.
            **facts: ``rationale`` or ``origin``.

        Raises:
            InputError: another number of scores than of words, or no such class.
        """
        (encoding,) = classifier.encode([text])
        own = alignment.of_words(encoding, array_of(float, scores, "scores"))
        return cls._of(classifier, encoding, own, target, facts)

    @classmethod
    def from_tokens(
        cls,
        classifier: Classifier,
        text: Text,
        tokens: Sequence[str],
        scores: Sequence[float] | FloatArray,
        target: int | str,
        **facts: Any,
    ) -> Explanation:
        """Build an explanation from tokens of the model's tokenizer and their scores.

        Ids, words and which tokens are special come from the classifier's tokenizer, which must
        part the text into the same tokens.

        Args:
            classifier: whose tokenizer tells what is missing.
            text: the text, or its words; a tuple of two for a pair.
            tokens: with or without the tokenizer's marks; with all special tokens or with none.
            scores: one for each.
            target: index or name of the class that the scores explain.
            **facts: ``rationale`` or ``origin``.

        Raises:
            InputError: the tokens are not those that the tokenizer makes of the text, or no such
                class.
        """
        (encoding,) = classifier.encode([text])
        named = [plain(token, str, "token") for token in listed(tokens, "tokens", "text")]
        own = alignment.of_tokens(encoding, named, array_of(float, scores, "scores"))
        return cls._of(classifier, encoding, own, target, facts)

    @classmethod
    def from_captum(
        cls,
        classifier: Classifier,
        text: Text,
        attributions: Any,
        target: int | str,
        **facts: Any,
    ) -> Explanation:
        """Build an explanation from what a captum method returned for one text.

        Args:
            classifier: whose tokenizer made the input that was attributed.
            text: the text, or its words; a tuple of two for a pair.
            attributions: (t,) or (1, t) of tokens; or (t, h) or (1, t, h) of embeddings, which are
                summed over h. Special tokens included, padding not.
            target: index or name of the class that was attributed.
            **facts: ``rationale`` or ``origin``.

        Raises:
            InputError: another shape, another number of tokens than the text has, or no such class.
        """
        values = attributions.detach().cpu() if hasattr(attributions, "detach") else attributions
        array = np.asarray(values, dtype=np.float64)
        (encoding,) = classifier.encode([text])
        size = len(encoding)
        if array.ndim and array.shape[0] == 1 and (array.ndim == 3 or array.shape != (size,)):
            array = array[0]
        if array.ndim == 2:
            array = array.sum(axis=1)
        if array.shape != (size,):
            raise InputError(
                f"explanation of {encoding.text!r}: attributions of shape "
                f"{np.shape(values)}, and the text has {size} tokens; give (tokens,) or (tokens, "
                "embedding), of one text without padding"
            )
        return cls._of(classifier, encoding, array, target, facts)

    @classmethod
    def from_shap(
        cls, classifier: Classifier, explained: Any, target: int | str, **facts: Any
    ) -> Explanation:
        """Build an explanation from one row of a ``shap.Explanation`` of texts.

        Args:
            classifier: whose tokenizer tells the tokens.
            explained: one text, as ``explainer(texts)[0]``: its pieces as ``data``, and ``values``
                of pieces, or of pieces and classes.
            target: index or name of the class, whose column it is if there are several.
            **facts: ``rationale`` or ``origin``.

        Raises:
            InputError: it is something else, or of several texts; or no such class.
        """
        target = classifier.class_index(target)
        try:
            pieces = [str(piece) for piece in explained.data]
            values = np.asarray(explained.values, dtype=np.float64)
            column = values if values.ndim == 1 else values[:, target]
            fits = column.shape == (len(pieces),)
        except (AttributeError, TypeError, ValueError, IndexError):
            fits = False
        if not fits:
            raise InputError(
                "explained must be one row of a shap.Explanation of texts, such as "
                f"explainer(texts)[0], with a column for target {target}, not {shown(explained)}"
            )
        (encoding,) = classifier.encode(["".join(pieces).strip()])
        own = alignment.of_pieces(encoding, pieces, column)
        return cls._of(classifier, encoding, own, target, facts)

    @classmethod
    def _of(
        cls,
        classifier: Classifier,
        encoding: Encoding,
        scores: FloatArray,
        target: int | str,
        facts: Mapping[str, Any],
    ) -> Explanation:
        index = classifier.class_index(target)
        return cls(
            text=encoding.text,
            target=index,
            target_name=classifier.class_names[index],
            token_ids=encoding.token_ids,
            tokens=encoding.tokens,
            scores=scores,
            special_mask=encoding.special_mask,
            word_ids=encoding.word_ids,
            pair=encoding.pair,
            **facts,
        )

    def __repr__(self) -> str:
        """Return a line: where it comes from, target, and the strongest tokens."""
        origin = self.origin.method if self.origin else "by hand"
        strongest = np.argsort(-np.abs(np.where(self.content_mask, self.scores, 0.0)))[:3]
        tokens = ", ".join(
            f"{self.tokens[i]} {self.scores[i]:+.3g}" for i in strongest if self.tokens
        )
        target = self.target if self.target_name is None else self.target_name
        return f"<Explanation {origin}, target {target}, {len(self)} tokens: {tokens}, …>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each token: ``token``, ``score``, ``special`` and ``word``."""
        import pandas as pd

        columns = {"score": self.scores, "special": ~self.content_mask, "word": self.word_ids}
        tokens = list(self.tokens) or [""] * len(self)
        return pd.DataFrame({"token": tokens, **columns})

    def _repr_html_(self) -> str:
        """Return how notebooks show it: the text, tokens shaded by attribution."""
        from exparity.core.markup import explanation_html

        return explanation_html(self)

    @property
    def content_mask(self) -> BoolArray:
        """(t,) True for the tokens that metrics score: all but the special ones."""
        return np.ones(len(self), bool) if self.special_mask is None else ~self.special_mask

    @property
    def sequence_mask(self) -> BoolArray:
        """(t,) True for the tokens of the text and special ones: all but those of a prompt."""
        assert self.word_ids is not None
        return np.asarray(self.word_ids != FRAME_WORD)


def is_pair(text: Any) -> TypeGuard[tuple[str, str]]:
    """Return whether this is a pair of texts: a tuple of two strings."""
    return isinstance(text, tuple) and len(text) == 2 and all(isinstance(t, str) for t in text)


def _marks(of: str, written: Sequence[int] | BoolArray, n_words: int, name: str) -> BoolArray:
    """Return marks of words, such as a rationale, as (w,) booleans."""
    marks = array_of(bool, written, f"{of}{name}")
    if len(marks) < n_words:
        raise InputError(
            f"{of}its tokens are of {n_words} words, but the {name} has "
            f"{len(marks)} marks; give one per word, and word_ids where words have several tokens"
        )
    return marks


Direction = Literal["higher", "lower"]
ARROWS: Mapping[Direction, str] = {"higher": "↑", "lower": "↓"}
"""How a metric's direction is marked."""
Needs = Literal["attributions", "rationale", "counterfactual", "probabilities", "explainer"]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is said of whatever is registered for experiments.

    Attributes:
        reference: where it is defined or described.
        display: name for tables; the id with blanks if None.
    """

    reference: str
    display: str | None = None


def _check_passes(passes: int) -> None:
    if passes < 1:
        raise InputError(f"passes must be 1 or more, found {passes}")


@dataclass(frozen=True, kw_only=True)
class MetricFacts(Facts):
    """What is true of a metric whatever its inputs.

    Attributes:
        direction: which values are better, ``higher`` or ``lower``.
        bounds: smallest and largest possible value.
        unit: what the value counts (probability, share, ...).
        kind: property of explanations it measures (faithfulness, complexity, robustness, ...).
        needs: ``attributions`` (scores alone), ``rationale`` (scores of words, and which words
            carry the label), ``counterfactual`` (scores of words, and which words change with the
            group), ``probabilities`` (it runs the model) or ``explainer`` (it runs the
            explanation method again).
        stochastic: True if it draws random numbers.
        passes: model passes per text, roughly; sizes the parts that a job saves.
        needs_gradient: True if it differentiates the model itself, which is done in float32.
        bounds_where: bounds under an option, by the name of one that is true or false.
        normalise_over: default of the option of that name, which metrics of normalised attributions
            have.
    """

    direction: Direction
    bounds: tuple[float, float]
    unit: str
    kind: str
    needs: Needs
    stochastic: bool
    passes: int = 1
    needs_gradient: bool = False
    bounds_where: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    normalise_over: Literal["sequence", "content"] = "sequence"

    def __post_init__(self) -> None:
        for low, high in (self.bounds, *self.bounds_where.values()):
            if not low < high:
                raise InputError(f"bounds must rise, found ({low:g}, {high:g})")
        _check_passes(self.passes)

    def bounds_with(self, options: Mapping[str, Any]) -> tuple[float, float]:
        """Return the smallest and largest possible value under some options."""
        named = (bounds for option, bounds in self.bounds_where.items() if options.get(option))
        return next(named, self.bounds)

    @property
    def runs_model(self) -> bool:
        """Whether it needs the classifier."""
        return self.needs in ("probabilities", "explainer")


@dataclass(frozen=True, kw_only=True)
class MethodFacts(Facts):
    """What is true of an explanation method whatever its inputs.

    Attributes:
        signed: True if negative scores mean evidence against the target.
        needs_gradient: True if it differentiates the model.
        target: output that it explains, ``logit`` or ``probability``; ``attention`` if it reads
            attention weights, which know no class; ``none`` if it never asks the model anything.
        baseline: what an absent token is replaced by, or None if nothing is.
        stochastic: True if it draws random numbers.
        adaptive: True if what it asks the model depends on what the model answered.
        pooling: how it pools the target logit's gradient at the input, if that is all it does.
        passes: model passes per text, roughly; sizes the parts that a job saves.
        needs_training: True if it works with the training split.
        path_options: its options that name files of the user's own; in a config ``{dataset}``,
            ``{model}`` and ``{seed}`` in such a name stand for the ids of a cell.
        repeatable: False if it has scores of given texts alone and cannot explain their moved
            copies, so that metrics that explain again do not apply.
        caution: receives all options and a transformers model type; returns what a plan has to
            warn of, or None.
        terms: what binds users of the method beside exparity's licence, such as a patent; None if
            nothing does. Such a method runs only where it is named.
    """

    signed: bool
    needs_gradient: bool
    target: Literal["logit", "probability", "attention", "none"]
    baseline: str | None
    stochastic: bool
    adaptive: bool = False
    pooling: Literal["l1", "times_input"] | None = None
    passes: int = 1
    needs_training: bool = False
    path_options: tuple[str, ...] = ()
    repeatable: bool = True
    caution: Callable[[Mapping[str, Any], str], str | None] | None = None
    terms: str | None = None

    def __post_init__(self) -> None:
        _check_passes(self.passes)

    @property
    def model_free(self) -> bool:
        """Whether scores depend on neither the model nor the embeddings."""
        return self.target == "none"


@dataclass(frozen=True, kw_only=True)
class HeadFacts(Facts):
    """What is true of a kind of classifier.

    Attributes:
        auto: name of the Auto class of transformers that loads and builds its models.
        prompted: whether a prompt is asked, so that no weight may be new and none is added.
    """

    auto: str
    prompted: bool = False


@dataclass(frozen=True)
class RemoteFile:
    """A file that a dataset is read from.

    Attributes:
        path: where it lies, relative to the data folder.
        url: where it can be downloaded, pinned to a commit where there is one.
        sha256: its digest in hexadecimal; None if it is not known.
        digest_option: option of the dataset that brings the digest where it is not known, or not
            from the publisher.
        member: its name in the ZIP archive at that address; None if the address is its own.
        by_hand: how to get it where only a person can, with an account for example.
    """

    path: str
    url: str
    sha256: str | None
    digest_option: str | None = None
    member: str | None = None
    by_hand: str | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetFacts(Facts):
    """What is true of a dataset.

    Attributes:
        attribute: the protected attribute; empty where examples are of no groups.
        groups: its values; their order fixes the sign of every difference (first − second). Without
            any, nothing is compared, and each example's group is empty.
        labels: names of the classes, by label index.
        matched: True if examples come in matched sets (pairs).
        rationales: True if words are marked that carry the label.
        licence: terms of use.
        files: what it is read from; none if it is generated or brought by the user.
        path_options: its options that name files of the user's own.
        from_hub: whether these may be addresses of the Hugging Face Hub as well, at the commit of
            its option ``revision``.
        rationale_option: its option that brings rationales where it has none without it.
        group_option: its option that says where the groups are, if options decide on them; it has
            none where that or ``groups`` is set and empty.
        group_terms: words that name each group, by form: those of one form stand for one another.
        sizes: its training and test examples with default options, where that is published; for
            plans where its files are not at hand.
        group_decides_label: True if the same text of another group has another label, so that there
            are no counterfactuals that keep it.
        check_options: receives all options, whose files are there, before any job; raises
            InputError where the head of a file shows that they do not fit.

    Attribute, groups and labels may depend on options: a dataset that returns a :class:`Loaded`
    says there what holds, and the facts are those of its default options, or empty.
    """

    attribute: str
    groups: tuple[str, ...]
    labels: tuple[str, ...]
    matched: bool
    rationales: bool
    licence: str
    files: tuple[RemoteFile, ...] = ()
    path_options: tuple[str, ...] = ()
    from_hub: bool = False
    rationale_option: str | None = None
    group_option: str | None = None
    group_terms: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    sizes: tuple[int, int] | None = None
    group_decides_label: bool = False
    check_options: Callable[[Mapping[str, Any]], None] | None = None

    def marks_words(self, options: Mapping[str, Any]) -> bool:
        """Return whether it marks the words that carry the label, under these options."""
        return self.rationales or bool(options.get(self.rationale_option or ""))

    def has_groups(self, options: Mapping[str, Any]) -> bool:
        """Return whether its examples are of groups, under these options."""
        option, named = self.group_option, options.get("groups")
        if option is None:
            return bool(self.groups)
        where = option == "groups" or bool(options.get(option, True))
        return where and (named is None or len(named) > 0)


@dataclass(frozen=True)
class Loaded:
    """Examples of a dataset whose options decide on attribute, groups or labels.

    What holds of these replaces what the dataset's :class:`DatasetFacts` say.
    """

    examples: Sequence[Example]
    attribute: str
    groups: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CounterfactualFacts(Facts):
    """What is true of a counterfactual generator whatever its inputs.

    Attributes:
        groups: those that it can turn examples into; any if empty.
        path_options: its options that name files of the user's own.
        check: receives the options that are set and a dataset's groups; returns why these options
            do not fit them, or None.
        terms: receives groups and all options; returns the words that tell each of the groups,
            whatever stands around them. None if it has none.
    """

    groups: tuple[str, ...] = ()
    path_options: tuple[str, ...] = ()
    check: Callable[[Mapping[str, Any], tuple[str, ...]], str | None] | None = None
    terms: Callable[[tuple[str, ...], Mapping[str, Any]], Mapping[str, Collection[str]]] | None = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class InterventionFacts(Facts):
    """What is true of a training-time intervention whatever its inputs.

    Attributes:
        needs_counterfactuals: True if it asks for counterfactuals of examples.
    """

    needs_counterfactuals: bool
