"""The sizes and weights of the recipes on COMPAS, all 6,172 rows, counted apart from the code."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from debiasing.examples import interventions
from support import REAL, need

from exparity.data import load_dataset
from exparity.data.compas import FILE, GROUPS, LABELS
from exparity.data.files import DataSource
from exparity.data.training_set import TrainingSet
from exparity.debiasing import apply

pytestmark = pytest.mark.reference
OTHER = {"male": "female", "female": "male"}
SIZES = {
    "us": 2350, "os": 9994, "rw": 6172, "cda": 12344, "us_cda": 4700, "os_cda": 19988,
    "rw_cda": 12344, "us_cda_jigsaw": 4700, "os_cda_jigsaw": 19988, "rw_cda_jigsaw": 12344,
}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> TrainingSet:
    need((REAL / FILE.path).is_file(), f"COMPAS below {REAL} (or EXPARITY_DATA)")
    examples = load_dataset("compas", DataSource(REAL, download=False))

    def swapped(example):
        words = tuple(
            "".join(OTHER.get(w, w) for w in word.partition(",")) for word in example.words
        )
        return [replace(example, words=words, group=OTHER[example.group])]

    return TrainingSet(
        "compas", GROUPS["gender"], LABELS, examples, np.ones(len(examples)), (), 0,
        counterfactuals=swapped,
    )  # fmt: skip


def test_reweighting_gives_each_cell_its_weight(rows):
    after = apply(rows, interventions("rw"))
    cells = [(label, group) for label in (0, 1) for group in ("male", "female")]
    found = {
        cell: {
            round(float(w), 4)
            for e, w in zip(after.examples, after.weights, strict=True)
            if (e.label, e.group) == cell
        }
        for cell in cells
    }
    assert [found[cell] for cell in cells] == [{1.0468}, {0.8402}, {0.9492}, {1.2948}]


@pytest.mark.parametrize("recipe", SIZES)
def test_each_recipe_makes_cells_of_its_sizes(rows, recipe):
    after = apply(rows, interventions(recipe))
    assert len(after.examples) == SIZES[recipe]
    sizes = Counter((example.label, example.group) for example in after.examples)
    if recipe != "rw":
        assert all(sizes[label, "male"] == sizes[label, "female"] for label in (0, 1))
    copies = [row for row in after.rows() if row["made_by"]]
    assert len(copies) == (SIZES[recipe] // 2 if "cda" in recipe else 0)
    # All counterfactuals of COMPAS differ, and name their own group.
    assert all(row["group"] in [word.strip(",") for word in row["words"]] for row in copies)
