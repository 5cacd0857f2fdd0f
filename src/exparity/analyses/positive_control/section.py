"""What a study would have found, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row
from exparity.artefacts.schemas import schema_of
from exparity.core.formats import joined
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.stats.planted import DRAWS, SHARES
from exparity.stats.verdicts import SHARE_OF_CLAIM, foresees


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where nothing was planted."""
    pairs = {tuple(pair) for pair in study.pairs}
    of_page = [row for row in rows if (row["dataset"], row["model"]) in pairs]
    if not of_page:
        return None
    export = Export(
        "positive_control", "Worsenings and their tests", schema_of("positive_control"), of_page
    )
    return Findings({"sentences": sentences_of(of_page, study), "draws": DRAWS}, [export])


def sentences_of(rows: Sequence[Row], study: Study) -> list[str]:
    """Return what would have been found, one sentence for places that are alike."""
    by_place = grouped(rows, lambda row: (row["dataset"], row["model"]))
    of_places: dict[tuple[str, str], list[tuple[str, float | None]]] = {
        place: _least(members, _level(study, place[0])) for place, members in by_place.items()
    }
    several = len(of_places) > 1
    alike = grouped(of_places, lambda place: _sentence(of_places[place]))
    if len(alike) == 1:
        return list(alike)
    return [
        f"{joined([_name(place, study) for place in places])}: {sentence}" if several else sentence
        for sentence, places in alike.items()
    ]


def _name(place: tuple[str, str], study: Study) -> str:
    return f"{study.display('model', place[1])} on {study.display('dataset', place[0])}"


def _level(study: Study, dataset: str) -> float:
    """Return the level of a claim over the cells that are judged by what explanations foresee."""
    cells = [
        row
        for row in study.standing
        if row["dataset"] == dataset and row["verdict"] and foresees(row)
    ]
    alpha = float(study.statistics["alpha"])
    return SHARE_OF_CLAIM * alpha / max(1, len(cells))


def _least(rows: Sequence[Row], level: float) -> list[tuple[str, float | None]]:
    """Return the smallest share that is found, by group: None where not even the largest is."""
    least = []
    for group, of_group in grouped(rows, lambda row: row["worse_group"]).items():
        shares: Mapping[float, list[Row]] = grouped(of_group, lambda row: row["share"])
        found = [s for s in SHARES if all(row["p"] <= level for row in shares.get(s, of_group))]
        least.append((group, min(found) if found else None))
    return least


def _sentence(least: Sequence[tuple[str, float | None]]) -> str:
    """Say what is found in each group alike, or what is not."""
    known = [share for _, share in least if share is not None]
    found = "" if not known else f"{100 * max(known):.0f} %"
    if len(known) == len(least):
        return f"A worsening of {found} planted in one group's explanations would have been found."
    blind = joined([group for group, share in least if share is None])
    sentence = (
        f"Not even a worsening of {100 * max(SHARES):.0f} % planted in the explanations of {blind} "
        "texts would have been found"
    )
    if known:
        seen = joined([f"{group} texts" for group, share in least if share is not None])
        return f"{sentence}; one of {found} in those of {seen} would have been."
    return f"{sentence}."
