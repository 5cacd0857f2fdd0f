"""Film reviews of the Stanford Sentiment Treebank, grouped by the gender that their words name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from exparity.data import dataset
from exparity.data._sst import FILES, LABELS, RATINGS, Classes, sentences_of
from exparity.data.facts import Loaded
from exparity.data.files import DataSource
from exparity.data.genders import GROUPS, read_lexicon

_LEXICON = "ab547b83623ca03180b7242cc22b100136861d4d3e80379e1ad786af54aa40a2"
_PART = re.compile(r"[^\W_]+")


def gender_named(words: Iterable[str]) -> str | None:
    """Return the gender that more words name; None if neither.

    A word counts beside other characters, too: ``she's``, ``(his``, ``mother-in-law``.
    """
    parts = [part for word in words for part in _PART.findall(word.lower())]
    telling = read_lexicon(_LEXICON).telling
    male, female = (sum(part in telling[gender] for part in parts) for gender in GROUPS)
    if male == female:
        return None
    return "male" if male > female else "female"


@dataset(
    "sst_gender",
    attribute="gender",
    groups=GROUPS,
    labels=LABELS,
    matched=False,
    rationales=False,
    licence="research use",
    reference="Socher et al. 2013, Stanford Sentiment Treebank",
    files=tuple(FILES.values()),
    display="SST-gender",
    sizes=(1050, 267),
)
def sst_gender(
    source: DataSource,
    *,
    classes: Classes = "two",
    dev: bool = True,
    verify: bool = True,
) -> Loaded:
    """Sentences of film reviews with more words of one gender than of the other.

    Args:
        source: where the raw files lie or go.
        classes: ``two``, without neutral sentences, or all ``five``.
        dev: train on the development part too; training holds out a share by itself.
        verify: refuse files that are not the ones known, by their SHA-256.

    Returns:
        One example a sentence, labelled by its rating as a whole.
    """
    examples = []
    for part, sentence in sentences_of(source, classes, dev=dev, verify=verify):
        group = gender_named(sentence.words)
        if group is not None:
            examples.append(sentence.example(part, classes, group))
    return Loaded(examples, "gender", GROUPS, LABELS if classes == "two" else RATINGS)
