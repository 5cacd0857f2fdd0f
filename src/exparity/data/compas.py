"""COMPAS two-year recidivism (Angwin et al. 2016), rendered as text."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

from exparity.core.errors import InputError, did_you_mean
from exparity.core.flags import Share
from exparity.data import dataset
from exparity.data._rows import csv_rows
from exparity.data._split import split_examples
from exparity.data.facts import Loaded, RemoteFile
from exparity.data.files import DataSource
from exparity.types import Example

log = logging.getLogger(__name__)

_COMMIT = "bafff5da3f2e45eca6c2d5055faad269defd135a"
FILE = RemoteFile(
    path="compas/compas-scores-two-years.csv",
    url=f"https://raw.githubusercontent.com/propublica/compas-analysis/{_COMMIT}/"
    "compas-scores-two-years.csv",
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)
LABELS = ("no_recidivism", "recidivism")
GROUPS = {"gender": ("male", "female"), "race": ("African-American", "Caucasian")}
_COLUMNS = (
    *("id", "sex", "age_cat", "race", "priors_count", "days_b_screening_arrest"),
    *("c_charge_degree", "is_recid", "score_text", "two_year_recid"),
)
_AGES = {
    "Less than 25": "under 45, under 25",
    "25 - 45": "under 45, over 25",
    "Greater than 45": "over 45, over 25",
}
_RACES = {"African-American": "African American", "Other": "other race"}


@dataset(
    "compas",
    attribute="gender",
    groups=GROUPS["gender"],
    labels=LABELS,
    matched=False,
    rationales=False,
    licence="published by ProPublica; personal records",
    reference="Angwin et al. 2016, ProPublica",
    files=(FILE,),
    display="COMPAS",
    sizes=(4938, 1234),
)
def compas(
    source: DataSource,
    *,
    attribute: Literal["gender", "race"] = "gender",
    groups: list[str] | None = None,
    test_share: Share = 0.2,
    split_seed: int = 0,
    verify: bool = True,
) -> Loaded:
    """Defendants described in a few words, and whether they were charged again within two years.

    Args:
        source: where the raw file lies or goes.
        attribute: the protected attribute.
        groups: its values to keep, in the order that fixes the sign; by default male and female, or
            African-American and Caucasian.
        test_share: share of the rows in the test split, in (0, 1).
        split_seed: seed of the split.
        verify: refuse a file whose SHA-256 is not the published one.

    Returns:
        The rows that ProPublica analysed: 6,172, of 1,175 women and 4,997 men.
    """
    path = source.find(FILE, verify=verify)
    columns = csv_rows(path, _COLUMNS, repeats=True)  # the published file has two named alike
    rows = [(where, row) for where, row in columns if _kept(where, row)]
    examples = [_example(where, row, attribute) for where, row in rows]
    order = tuple(groups or GROUPS[attribute])
    known = sorted({e.group for e in examples})
    for group in order:
        if group not in known:
            raise InputError(
                f"dataset compas: groups: no {attribute} '{group}'; {did_you_mean(group, known)}"
            )
    chosen = [e for e in examples if e.group in order]
    if len(chosen) < len(examples):
        log.info("compas: left out %d rows of other groups", len(examples) - len(chosen))
    split = split_examples(chosen, test_share=test_share, seed=split_seed, where="dataset compas")
    return Loaded(split, attribute, order, LABELS)


def _kept(where: str, row: Mapping[str, str]) -> bool:
    """Return whether ProPublica's analysis keeps a row: charge and score belong together."""
    return (
        row["days_b_screening_arrest"] != ""
        and abs(_integer(where, row, "days_b_screening_arrest")) <= 30
        and row["is_recid"] != "-1"
        and row["c_charge_degree"] != "O"
        and row["score_text"] != "N/A"
    )


def _example(where: str, row: Mapping[str, str], attribute: str) -> Example:
    gender = _one_of(where, row, "sex", ("Male", "Female")).lower()
    return Example(
        example_id=row["id"].zfill(5),
        words=tuple(defendant_text(where, row).split()),
        label=int(_one_of(where, row, "two_year_recid", ("0", "1"))),
        group=gender if attribute == "gender" else row["race"],
        split="train",
        attributes={"gender": gender, "race": row["race"]},
    )


def defendant_text(where: str, row: Mapping[str, str]) -> str:
    """Return a row as text: priors, score factor, two age limits, race, gender, misdemeanor."""
    facts = [
        f"{_integer(where, row, 'priors_count')} priors",
        f"score factor {int(row['score_text'] != 'Low')}",
        _AGES[_one_of(where, row, "age_cat", tuple(_AGES))],
        _RACES.get(row["race"], row["race"]),
        row["sex"].lower(),
    ]
    if row["c_charge_degree"] == "M":
        facts.append("misdemeanor")
    return ", ".join(facts)


def _integer(where: str, row: Mapping[str, str], column: str) -> int:
    try:
        return int(row[column])
    except ValueError:
        raise InputError(f"{where}: {column} is not a whole number: '{row[column]}'") from None


def _one_of(where: str, row: Mapping[str, str], column: str, allowed: Sequence[str]) -> str:
    if row[column] not in allowed:
        raise InputError(f"{where}: {column} '{row[column]}' is not one of {', '.join(allowed)}")
    return row[column]
