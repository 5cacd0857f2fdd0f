"""Owen values of a text's tokens: the hierarchy of the shap package, and its search with few masks.

The search is a generator that yields questions, so that those of many texts can share batches.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from exparity.engine.known_rows import KnownRows
from exparity.methods import MethodBatch
from exparity.types import BoolArray, FloatArray, IntArray

Search = Generator[BoolArray, FloatArray, FloatArray]
"""Yields (m, t) masks, is sent (v, m, c) probabilities of v versions of a text, returns (v, t)."""

Mask = int
"""Present tokens of a text: bit i is set where token i is."""

_ROUND = 5  # masks that a round begins with, as shap's explainer of texts has it
_AHEAD = 16  # branches of later rounds whose masks are asked for early, so that batches are large
_ENDS_WORD = re.compile(r"^.*\W$")
_BEGINS_LETTER = re.compile(r"^[A-Za-z]")
_CONNECTORS = ("but", "and", "or")  # which shap's explainer would rather leave by themselves


def unit_hierarchy(batch: MethodBatch, text: int) -> IntArray:
    """Return the :func:`text_hierarchy` of the units of a text of a batch, a prompt's left out."""
    encoding = batch.encodings[text]
    units = batch.units[text]
    inside = batch.text_masks[text]
    assert encoding.offsets is not None
    ends = np.zeros(len(units), dtype=np.int64)
    np.maximum.at(ends, units.unit_of_token, encoding.offsets[:, 1])
    spans = np.stack([encoding.offsets[units.first, 0], ends], axis=1)[inside]
    return text_hierarchy(encoding.text, spans, batch.classifier.tokenizer.sep_token)


def text_hierarchy(text: str, spans: IntArray, separator: str | None) -> IntArray:
    """Return the (t − 1, 2) halves of each branch of a text's tokens, the whole text last.

    Tokens are branches 0 to t − 1. The two neighbours with the highest :func:`_merge_score` are
    joined first, of several the first two.

    Args:
        text: the text.
        spans: (t, 2) start and end of each token in it.
        separator: token between two texts, whose neighbours are joined last.
    """
    tokens = _tokens(text, spans)
    n_tokens = len(tokens)
    unbalanced = {place for place, token in enumerate(tokens) if token in ("(", ")")}
    groups = [(place, place) for place in range(n_tokens)]  # first and last token
    branches = list(range(n_tokens))

    def score(at: int) -> float:
        return _merge_score(tokens, groups[at], groups[at + 1], unbalanced, separator)

    scores = [score(at) for at in range(n_tokens - 1)]
    halves = np.zeros((n_tokens - 1, 2), dtype=np.int64)
    for number in range(n_tokens - 1):
        at = scores.index(max(scores))
        first = groups[at][0]
        last = groups.pop(at + 1)[1]
        groups[at] = first, last
        halves[number] = branches[at], branches.pop(at + 1)
        branches[at] = n_tokens + number
        if (tokens[first], tokens[last]) == ("(", ")"):
            unbalanced -= {first, last}
        del scores[at]
        for changed in range(max(at - 1, 0), min(at + 1, len(scores))):
            scores[changed] = score(changed)
    return halves


def _tokens(text: str, spans: IntArray) -> list[str]:
    """Return tokens without blanks around them; ``##`` before those that go on with a word."""
    # A piece reaches to the next token: the blank after a word is the word's.
    ends = [*np.maximum(spans[:-1, 1], spans[1:, 0]), spans[-1, 1]]
    pieces = [text[start:end] for start, end in zip(spans[:, 0], ends, strict=True)]
    tokens: list[str] = []
    for place, piece in enumerate(pieces):
        goes_on = (
            place > 0
            and tokens[-1] != ""
            and not _ENDS_WORD.match(pieces[place - 1])
            and _BEGINS_LETTER.match(piece)
        )
        tokens.append(f"##{piece.strip()}" if goes_on else piece.strip())
    return tokens


def _merge_score(
    tokens: Sequence[str],
    left: tuple[int, int],
    right: tuple[int, int],
    unbalanced: set[int],
    separator: str | None,
) -> float:
    """Return how well two neighbouring groups of tokens belong together, as shap's ``Text`` does.

    Pieces of a word come first, then endings after an apostrophe; brackets, connectors, commas and
    ends of sentences part groups, and small groups go before large ones.
    """
    before = tokens[left[1]]
    after = tokens[right[0]]
    size = right[1] - right[0] + 1
    score = 0.0
    if separator and before == after == separator:
        score -= math.inf
    if after.startswith("##"):
        score += 20
    if after == "'" and (size == 1 or (size == 2 and tokens[right[1]] in ("t", "s"))):
        score += 15
    if before == "'" and after in ("t", "s"):
        score += 15
    if _is_control(tokens[left[0]]) != _is_control(tokens[right[1]]):
        score -= 1000
    if after == "(" and right[0] in unbalanced:
        score -= 100
    if before == ")" and left[1] in unbalanced:
        score -= 100
    if tokens[left[0]] == "(":
        score -= 2
    if before in _CONNECTORS or after in _CONNECTORS:
        score -= 2
    for marks, cost in (((",",), 10), ((".", "?", "!"), 20)):
        if before in marks:
            score -= cost
        if after in marks:
            score -= cost if size > 1 else 1
    return score - (left[1] - left[0] + 1) - size


def _is_control(token: str) -> bool:
    return token.startswith("[") and token.endswith("]")


def owen_values(
    halves: IntArray, always: BoolArray, targets: IntArray, max_evals: int, seed: int
) -> Search:
    """Search for the Owen values of a text's tokens, and of versions of it beside it.

    As the shap package's explainer of partitions: of all branches the one with the largest effect
    on a class, times its weight, is split first; draws decide between equal ones. What is not split
    when ``max_evals`` masks have run is shared evenly among its tokens. Masks of later rounds run
    early, so that batches are large; what they give is used in the order of that explainer.

    Args:
        halves: (t − 1, 2) hierarchy of the tokens; see :func:`text_hierarchy`.
        always: (t,) True for tokens that are never absent.
        targets: (v,) class to explain of each version; the first alone decides on splits.
        max_evals: most masks to ask for, and 2 × ``_AHEAD`` more that may turn out unneeded.
        seed: of the draws.
    """
    tree = _Tree.of(halves)
    outputs = _KnownOutputs(always, targets)
    (none,) = yield from outputs.ask([0])
    (full,) = yield from outputs.ask([tree.members[tree.root]])
    draws = np.random.RandomState(seed)
    queue = [_Part(0.0, 0.0, tree.root, 0, none, full, 1.0)]
    tokens: list[_Part] = []
    n_asked = 0
    most = max_evals - 2
    whole_tree = list(tree.masks_below(tree.root, 0)) if tree.n_masks <= most else None

    while queue and n_asked < most:
        splits: list[_Part] = []
        while queue and 2 * len(splits) < min(_ROUND, most - n_asked):
            part = heapq.heappop(queue)
            if part.branch < tree.n_tokens:
                tokens.append(part)
            else:
                splits.append(part)
        if not splits:
            break
        masks = [mask for part in splits for mask in tree.split(part.branch, part.beside)]
        n_asked += len(masks)
        later = partial(_masks_of_next_rounds, tree, queue, most - n_asked, whole_tree)
        rows = yield from outputs.ask(masks, later)
        parts = []
        for place, part in enumerate(splits):
            pair = slice(2 * place, 2 * place + 2)
            parts += _halves_of(part, tree, masks[pair], rows[pair])
        ranks = -outputs.largest_effects(parts)
        for part, rank, draw in zip(parts, ranks.tolist(), draws.randn(len(parts)), strict=True):
            heapq.heappush(queue, _Part(rank, draw, *part[2:]))
    parts = [*tokens, *sorted(queue)]
    effects = np.zeros((len(tree.members), outputs.n_columns))
    # One after the other, in this order, also where a branch has several parts.
    np.add.at(effects, [part.branch for part in parts], outputs.effects(parts))
    for branch in range(tree.root, tree.n_tokens - 1, -1):
        for half in tree.halves[branch - tree.n_tokens]:
            effects[half] += effects[branch] * tree.n_members(half) / tree.n_members(branch)
    return effects[: tree.n_tokens, -len(targets) :].T


class _Part(NamedTuple):
    """A branch beside present tokens, to be split; those of the lowest rank come first.

    Attributes:
        rank: minus the largest effect on a class, times the weight.
        draw: decides between equal ranks.
        branch: its number in the tree.
        beside: mask of the tokens that are present beside it.
        without: row of the outputs where it is absent.
        with_it: row of the outputs where it is present.
        weight: of the effect in the values of its tokens.
    """

    rank: float
    draw: float
    branch: int
    beside: Mask
    without: int
    with_it: int
    weight: float


def _halves_of(part: _Part, tree: _Tree, masks: Sequence[Mask], rows: Sequence[int]) -> list[_Part]:
    """Return the halves of a part, alone and beside the other half; ranks and draws are open.

    ``masks`` and ``rows`` are those with the left half and with the right half.
    """
    left, right = tree.halves[part.branch - tree.n_tokens]
    mask_of_left, mask_of_right = masks
    with_left, with_right = rows
    weight = part.weight / 2
    return [
        _Part(0.0, 0.0, left, part.beside, part.without, with_left, weight),
        _Part(0.0, 0.0, right, part.beside, part.without, with_right, weight),
        _Part(0.0, 0.0, left, mask_of_right, with_right, part.with_it, weight),
        _Part(0.0, 0.0, right, mask_of_left, with_left, part.with_it, weight),
    ]


def _masks_of_next_rounds(
    tree: _Tree, queue: Sequence[_Part], n_left: int, whole_tree: Sequence[Mask] | None
) -> Sequence[Mask]:
    """Return the masks of the parts that come next by what is known; nearly all are split later.

    Those of the ``whole_tree`` are taken where there are so few that all will be asked for.
    """
    if whole_tree:
        return whole_tree
    parts = heapq.nsmallest(min(_AHEAD, n_left // 2), queue)
    wide = [part for part in parts if part.branch >= tree.n_tokens]
    return [mask for part in wide for mask in tree.split(part.branch, part.beside)]


class _KnownOutputs:
    """Outputs of a text's masks, a row for each; each mask runs once.

    Columns are the classes of the first version, and the targets of all.
    """

    def __init__(self, always: BoolArray, targets: IntArray) -> None:
        self._n_tokens = len(always)
        self._always: Mask = int.from_bytes(np.packbits(always, bitorder="little"), "little")
        self._targets = targets
        self._known: KnownRows[Mask] = KnownRows(np.zeros((0, 0)))

    @property
    def n_columns(self) -> int:
        """Number of classes and targets."""
        n_columns: int = self._known.table.shape[1]
        return n_columns

    def ask(
        self, masks: Sequence[Mask], later: Callable[[], Iterable[Mask]] = tuple
    ) -> Generator[BoolArray, FloatArray, list[int]]:
        """Return the row of each mask.

        Where one of them has not run yet, those for ``later`` run with it.
        """
        shown = [mask | self._always for mask in masks]
        new = [mask for mask in dict.fromkeys(shown) if mask not in self._known.row_of]
        if new:
            new += (mask | self._always for mask in later())
            new = [mask for mask in dict.fromkeys(new) if mask not in self._known.row_of]
            answers = yield _as_arrays(new, self._n_tokens)  # (v, m, c)
            versions = np.arange(len(self._targets))
            outputs = np.hstack([answers[0], answers[versions, :, self._targets].T])
            self._known.add(new, outputs)
        return [self._known.row_of[mask] for mask in shown]

    def effects(self, parts: Sequence[_Part]) -> FloatArray:
        """Return (p, c + v) what the presence of each part adds to the values of its tokens."""
        weights = np.array([part.weight for part in parts])
        effects: FloatArray = self._differences(parts) * weights[:, None]
        return effects

    def largest_effects(self, parts: Sequence[_Part]) -> FloatArray:
        """Return (p,) the largest effect of each part on a class, times its weight."""
        on_classes = self._differences(parts)[:, : -len(self._targets)]
        weights = np.array([part.weight for part in parts])
        largest: FloatArray = np.abs(on_classes).max(axis=1) * weights
        return largest

    def _differences(self, parts: Sequence[_Part]) -> FloatArray:
        with_it = self._known.table[[part.with_it for part in parts]]
        without = self._known.table[[part.without for part in parts]]
        differences: FloatArray = with_it - without
        return differences


def _as_arrays(masks: Sequence[Mask], n_tokens: int) -> BoolArray:
    """Return the (m, t) arrays of masks."""
    n_bytes = math.ceil(n_tokens / 8)
    packed = b"".join(mask.to_bytes(n_bytes, "little") for mask in masks)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(masks), n_bytes)
    return np.unpackbits(rows, axis=1, count=n_tokens, bitorder="little").astype(bool)


@dataclass(frozen=True)
class _Tree:
    """The hierarchy of a text's tokens.

    Attributes:
        halves: (t − 1) halves of each branch that is no token.
        members: (2t − 1) mask of the tokens of each branch.
    """

    halves: Sequence[tuple[int, int]]
    members: Sequence[Mask]

    @classmethod
    def of(cls, halves: IntArray) -> _Tree:
        """Return the tree of some halves."""
        pairs = [(left, right) for left, right in halves.tolist()]
        members = [1 << token for token in range(len(pairs) + 1)]
        for left, right in pairs:
            members.append(members[left] | members[right])
        return cls(pairs, members)

    @property
    def n_tokens(self) -> int:
        """Number of tokens; the branches of lower numbers."""
        return len(self.halves) + 1

    @property
    def root(self) -> int:
        """The branch of the whole text."""
        return len(self.members) - 1

    @property
    def n_masks(self) -> int:
        """Masks that it takes to split everything: two a split, and each half is split twice."""
        counts = [0] * self.n_tokens  # Python's integers: those of long texts leave int64
        for left, right in self.halves:
            counts.append(2 + 2 * (counts[left] + counts[right]))
        return counts[-1]

    def n_members(self, branch: int) -> int:
        """Return the number of a branch's tokens."""
        return self.members[branch].bit_count()

    def split(self, branch: int, beside: Mask) -> list[Mask]:
        """Return the masks of the tokens beside a branch, with either half of it."""
        return [beside | self.members[half] for half in self.halves[branch - self.n_tokens]]

    def masks_below(self, branch: int, beside: Mask) -> Iterator[Mask]:
        """Yield the masks that it takes to split a branch to its tokens."""
        if branch < self.n_tokens:
            return
        left, right = self.halves[branch - self.n_tokens]
        with_left, with_right = self.split(branch, beside)
        yield with_left
        yield with_right
        for half in (left, right):
            yield from self.masks_below(half, beside)
        yield from self.masks_below(left, with_right)
        yield from self.masks_below(right, with_left)
