"""Word lists and sentence templates of the generated gender corpus.

What they hold, and the rules that the authors kept, stands in the files themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exparity.core.strict import read_yaml
from exparity.data.files import shipped

GenderedEntry = tuple[str, str]
# A change of the words changes this file, and so the workflow runs again what they made.
DIGESTS = {
    "lexicon.yaml": "5a566db7388c39e2ada44039931686bca3a17d8330019491c07b964d3dc72f23",
    "templates.yaml": "c9b15d23033125a47e6e2f2eee669802b9cba4ec6a0f50e774faf213dd71c9f3",
}


PROTAGONIST = "P"
NOBODY = ""
_SLOT = re.compile(r"\{(?:(?P<person>[A-Z]):)?(?P<list>[a-z]+)(?:#\d)?(?:\.(?P<form>[a-z]+))?\}")


@dataclass(frozen=True)
class Slot:
    """A word of a template that is filled: with what, and for whom."""

    key: str
    person: str
    name: str
    form: str | None


@dataclass(frozen=True)
class Template:
    """One authored sentence pattern.

    Attributes:
        id: slug, unique in the grammar.
        kind: ``subject`` or ``object``: the place of the protagonist in the main clause.
        parts: literal words and slots in order.
    """

    id: str
    kind: str
    parts: tuple[str | Slot, ...]

    def slots(self) -> Iterator[Slot]:
        """Yield the slots in order."""
        return (part for part in self.parts if isinstance(part, Slot))

    def persons(self) -> list[str]:
        """Return the persons that it mentions, sorted."""
        return sorted({slot.person for slot in self.slots() if slot.person != NOBODY})

    def features(self) -> frozenset[str]:
        """Return what training must also offer: the kind and every gendered form."""
        forms = {slot.name for slot in self.slots() if slot.person != NOBODY}
        return frozenset(forms | {self.kind})


def parse(text: str) -> tuple[str | Slot, ...]:
    """Part the text of a template into words and slots."""
    matches = ((word, _SLOT.fullmatch(word)) for word in text.split())
    return tuple(
        Slot(word.strip("{}").split(".")[0], m["person"] or NOBODY, m["list"], m["form"])
        if m
        else word
        for word, m in matches
    )


def _pairs(text: str) -> tuple[GenderedEntry, ...]:
    """Part ``male female, male female`` into entries."""
    pairs = (pair.split() for pair in text.split(","))
    return tuple((male, female) for male, female in pairs)


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(";"))


def _gendered(lexicon: Mapping[str, Any]) -> dict[str, tuple[GenderedEntry, ...]]:
    titles = {_pairs(pair)[0]: weight for pair, weight in lexicon["titles"].items()}
    elders, roles = _pairs(lexicon["elders"]), _pairs(lexicon["roles"])
    return {
        "name": _pairs(lexicon["names"]),
        "role": tuple((f"the {male}", f"the {female}") for male, female in roles),
        "title": tuple(
            (f"{male} {surname}", f"{female} {surname}")
            for (male, female), weight in titles.items()
            for surname in _items(lexicon["surnames"])
            for _ in range(weight)
        ),
        "kin": elders + _pairs(lexicon["younger_kin"]),
        "elder": elders,
        "child": _pairs(lexicon["children"]),
        "wed": _pairs(lexicon["weds"]),
        "spouse": _pairs(lexicon["spouses"]),
    }


_FOLDER = shipped("gender_pairs", DIGESTS)
_LEXICON = read_yaml(_FOLDER / "lexicon.yaml")

GENDERED = _gendered(_LEXICON)
MIXED: dict[str, tuple[str, ...]] = {
    name: tuple(entry for entry, weight in weights.items() for _ in range(weight))
    for name, weights in _LEXICON["mixed"].items()
}
PRONOUNS: dict[str, GenderedEntry] = {
    form: _pairs(entry)[0] for form, entry in _LEXICON["pronouns"].items()
}
VERB_FORMS: tuple[str, ...] = tuple(_LEXICON["verb_forms"].split())
VERBS: dict[str, tuple[str, ...]] = {
    name: tuple(verbs) for name, verbs in _LEXICON["verbs"].items()
}
NEUTRAL: dict[str, tuple[str, ...]] = {
    name: _items(fillers) for name, fillers in _LEXICON["neutral"].items()
}
TEMPLATES: tuple[Template, ...] = tuple(
    Template(slug, kind, parse(text))
    for kind, texts in read_yaml(_FOLDER / "templates.yaml").items()
    for slug, text in texts.items()
)
