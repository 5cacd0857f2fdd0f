"""The Stanford Sentiment Treebank (Socher et al. 2013), with rationales from its rated phrases."""

from __future__ import annotations

from collections.abc import Sequence

from exparity.data import dataset
from exparity.data._sst import FILES, LABELS, NEUTRAL, RATINGS, Classes, Phrase, sentences_of
from exparity.data.facts import Loaded
from exparity.data.files import DataSource


@dataset(
    "sst",
    attribute="",
    groups=(),
    labels=LABELS,
    matched=False,
    rationales=True,
    licence="research use",
    reference="Socher et al. 2013, Stanford Sentiment Treebank; rationales of Carton et al. 2020, "
    "arXiv:2010.04736",
    files=tuple(FILES.values()),
    display="SST",
    sizes=(7792, 1821),
)
def sst(
    source: DataSource,
    *,
    classes: Classes = "two",
    dev: bool = True,
    verify: bool = True,
) -> Loaded:
    """Sentences of film reviews, with the phrases that are rated more strongly than their parts.

    Args:
        source: where the raw files lie or go.
        classes: ``two``, without neutral sentences, or all ``five``.
        dev: train on the development part too; training holds out a share by itself.
        verify: refuse files that are not the ones known, by their SHA-256.

    Returns:
        One example a sentence, of no group, labelled by its rating as a whole.
    """
    sentences = sentences_of(source, classes, dev=dev, verify=verify)
    examples = [
        sentence.example(part, classes, "", rationale_of(sentence.phrases))
        for part, sentence in sentences
    ]
    return Loaded(examples, "", (), LABELS if classes == "two" else RATINGS)


def rationale_of(phrases: Sequence[Phrase]) -> tuple[int, ...]:
    """Mark (0/1) the words of every phrase further from neutral than all phrases within it.

    A single word is one where it is not neutral. Carton et al. (2020), and ferret after them, go
    from the sentence down to the first such phrases; these hold the same words.
    """
    marks = [0] * phrases[-1].stop
    open_phrases: list[tuple[int, int]] = []  # start, and largest strength of it and within it
    for phrase in phrases:
        within = 0
        while open_phrases and open_phrases[-1][0] >= phrase.start:
            within = max(within, open_phrases.pop()[1])
        strength = abs(phrase.rating - NEUTRAL)
        if strength > within:
            marks[phrase.start : phrase.stop] = [1] * (phrase.stop - phrase.start)
        open_phrases.append((phrase.start, max(strength, within)))
    return tuple(marks)
