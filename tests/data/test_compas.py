"""COMPAS: the published rows and their text, race as the attribute, and what is refused."""

from collections import Counter

import pytest
from data.tables import raw_files
from support import REAL, need, refused_by

from exparity.core.errors import InputError
from exparity.data import DATASETS, load_dataset, load_with_facts
from exparity.data.compas import FILE, Defendant, defendant_text
from exparity.data.files import DataSource

REFUSED = refused_by(__file__)

ROW = {
    "id": "1", "sex": "Male", "age_cat": "Less than 25", "race": "African-American",
    "priors_count": "3", "days_b_screening_arrest": "-1", "c_charge_degree": "M",
    "is_recid": "1", "score_text": "High", "two_year_recid": "1",
}  # fmt: skip


class TestText:
    @pytest.mark.parametrize(
        ("changes", "text"),
        [
            # The three texts that the study prints.
            ({},
             "3 priors, score factor 1, under 45, under 25, African American, male, misdemeanor"),
            ({"priors_count": "1", "score_text": "Low", "race": "Hispanic", "c_charge_degree": "F"},
             "1 priors, score factor 0, under 45, under 25, Hispanic, male"),
            ({"priors_count": "0", "score_text": "Low", "race": "Other", "sex": "Female",
              "c_charge_degree": "F"},
             "0 priors, score factor 0, under 45, under 25, other race, female"),
            # What it does not print.
            ({"age_cat": "Greater than 45", "race": "Caucasian", "c_charge_degree": "F"},
             "3 priors, score factor 1, over 45, over 25, Caucasian, male"),
        ],
    )  # fmt: skip
    def test_a_row_as_text(self, changes, text):
        assert defendant_text(Defendant(*{**ROW, **changes}.values())) == text


def source_of(folder, rows):
    lines = [",".join(ROW), *(",".join(row.values()) for row in rows)]
    return raw_files(folder, [(FILE, lines)])


def people(n=10):
    """Rows of both genders, classes and all races."""
    races = ("African-American", "Caucasian", "Other")
    return [
        {**ROW, "id": str(i), "race": races[i % 3], "sex": ("Male", "Female")[i % 2],
         "two_year_recid": str(i // 2 % 2)}
        for i in range(6 * n)
    ]  # fmt: skip


class TestAlteredFile:
    @pytest.mark.parametrize(
        ("changes", "kept"),
        [
            ({}, True),
            ({"days_b_screening_arrest": "30"}, True),
            ({"days_b_screening_arrest": "-31"}, False),
            ({"days_b_screening_arrest": ""}, False),
            ({"is_recid": "-1"}, False),
            ({"c_charge_degree": "O"}, False),
            ({"score_text": "N/A"}, False),
        ],
    )
    def test_only_rows_that_pass_the_filter_are_read(self, changes, kept, tmp_path):
        source = source_of(tmp_path, [*people(), {**ROW, **changes, "id": "999"}])
        found = load_dataset("compas", source, {"verify": False})
        assert ("00999" in {e.example_id for e in found}) == kept

    @pytest.mark.parametrize(("changes", "message"), REFUSED["bad_rows_are_named"])
    def test_bad_rows_are_named(self, changes, message, tmp_path):
        source = source_of(tmp_path, [*people(), {**ROW, "id": "999", **changes}])
        with pytest.raises(InputError, match=message):
            load_dataset("compas", source, {"verify": False})

    def test_the_attribute_decides_on_the_groups(self, tmp_path):
        source = source_of(tmp_path, people())
        options = {"verify": False, "attribute": "race"}
        found, facts = load_with_facts("compas", source, options)
        assert (facts.attribute, facts.groups) == ("race", ("African-American", "Caucasian"))
        assert len(found) == 40  # those of other races are left out
        options["groups"] = ["Other", "Caucasian", "African-American"]
        found, facts = load_with_facts("compas", source, options)
        assert facts.groups == ("Other", "Caucasian", "African-American")
        assert Counter(e.group for e in found) == dict.fromkeys(facts.groups, 20)
        assert {e.attributes["gender"] for e in found} == {"male", "female"}
        assert DATASETS.get("compas").facts.groups == ("male", "female")  # registered ones stay

    @pytest.mark.parametrize(("options", "message"), REFUSED["bad_options"])
    def test_bad_options_of_compas_are_refused(self, options, message, tmp_path):
        with pytest.raises(InputError, match=message):
            load_dataset("compas", source_of(tmp_path, people()), {"verify": False, **options})


def test_the_published_counts_are_met():
    need((REAL / FILE.path).is_file(), f"COMPAS below {REAL} (or EXPARITY_DATA)")
    found = load_dataset("compas", DataSource(REAL, download=False))
    assert len(found) == 6172
    assert Counter(e.group for e in found) == {"female": 1175, "male": 4997}
    assert Counter(e.label for e in found) == {0: 3363, 1: 2809}
