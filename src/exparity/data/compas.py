"""COMPAS two-year recidivism (Angwin et al. 2016), rendered as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from exparity.core.flags import Share
from exparity.data import dataset
from exparity.data._known import known_facts, known_files
from exparity.data._split import split_examples
from exparity.data.facts import Loaded
from exparity.data.files import DataSource, published_row, read_published
from exparity.types import Example

FILE = known_files("compas")["all"]
LABELS = ("no_recidivism", "recidivism")
GROUPS = {"gender": ("male", "female"), "race": ("African-American", "Caucasian")}
_COLUMNS = (
    *("id", "sex", "age_cat", "race", "priors_count", "days_b_screening_arrest"),
    *("c_charge_degree", "is_recid", "score_text", "two_year_recid"),
)
"""Columns of the file, in the order of the attributes of :class:`Defendant`."""
_AGES = {
    "Less than 25": "under 45, under 25",
    "25 - 45": "under 45, over 25",
    "Greater than 45": "over 45, over 25",
}
_GENDERS = {"Male": "male", "Female": "female"}
_RACES = {"African-American": "African American", "Other": "other race"}


class Defendant(NamedTuple):
    """A row of the file, as text."""

    number: str
    sex: str
    age: str
    race: str
    priors: str
    days_to_arrest: str
    charge_degree: str
    recidivism: str
    score: str
    two_year_recidivism: str


@dataset("compas", **known_facts("compas"))
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

    def example_of(row: Defendant, part: str, number: int) -> Example | None:
        # ProPublica's analysis keeps rows whose charge and score belong together.
        days = row.days_to_arrest
        if days == "" or abs(int(days)) > 30 or row.recidivism == "-1":
            return None
        if row.charge_degree == "O" or row.score == "N/A":
            return None
        gender = _GENDERS[row.sex]
        return Example(
            example_id=row.number.zfill(5),
            words=tuple(defendant_text(row).split()),
            label=("0", "1").index(row.two_year_recidivism),
            group=gender if attribute == "gender" else row.race,
            split="train",
            attributes={"gender": gender, "race": row.race},
        )

    examples = read_published(source, {"all": FILE}, _rows_of, example_of, verify=verify)
    order = tuple(groups or GROUPS[attribute])
    chosen = [e for e in examples if e.group in order]
    split = split_examples(chosen, test_share=test_share, seed=split_seed, where="dataset compas")
    return Loaded(split, attribute, order, LABELS)


def _rows_of(path: Path) -> Iterator[tuple[str, Defendant]]:
    import pandas as pd

    # Some columns are there twice; pandas reads the first of them.
    with published_row(str(path)):
        table = pd.read_csv(path, usecols=_COLUMNS, dtype=str, keep_default_na=False)
    columns = (table[name].tolist() for name in _COLUMNS)
    for line, values in enumerate(zip(*columns, strict=True), start=2):
        yield f"{path}:{line}", Defendant(*values)


def defendant_text(row: Defendant) -> str:
    """Return a row as text: priors, score factor, two age limits, race, gender, misdemeanor."""
    facts = [
        f"{int(row.priors)} priors",
        f"score factor {int(row.score != 'Low')}",
        _AGES[row.age],
        _RACES.get(row.race, row.race),
        _GENDERS[row.sex],
    ]
    if row.charge_degree == "M":
        facts.append("misdemeanor")
    return ", ".join(facts)
