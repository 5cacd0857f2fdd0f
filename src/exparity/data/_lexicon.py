"""Word lists and sentence templates of the generated gender corpus.

What they hold, and the rules that the authors kept, stands in the files themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True)
class Template:
    """One authored sentence pattern.

    Args:
        id: Slug, unique in the grammar.
        kind: "subject" or "object": the place of the protagonist in the main clause.
        text: Blank-separated words and slots.
    """

    id: str
    kind: str
    text: str


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
    Template(slug, kind, text)
    for kind, texts in read_yaml(_FOLDER / "templates.yaml").items()
    for slug, text in texts.items()
)
