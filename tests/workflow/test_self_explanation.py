"""A language model that explains itself, from the config to the page."""

import re

import pandas as pd
import pytest
from support import GENDER_PROMPT, LLAMA, TINY

import exparity

pytestmark = pytest.mark.workflow


@pytest.mark.exhaustive
def test_answers_of_a_language_model_reach_the_page(checkout):
    """The table of the page counts the stored answers, by group."""
    checkout.configure(
        datasets={"pairs_all": {"n_pairs": 24}},
        models={"llama": LLAMA},
        training={**TINY["training"], "epochs": 1},
        prompts={"pairs_all": GENDER_PROMPT},
        methods={"self_explanation": {"max_new_tokens": 4}},
        metrics={"forward_simulation": {}},
        controls={"random": {"draws": 0}},
    )
    checkout.snakemake()
    scores = exparity.read_results(checkout.results, "scores")
    assert set(scores["method"]) == {"self_explanation"}
    answers = exparity.read_results(checkout.results, "explanations").merge(
        scores[["example_id", "group"]]
    )
    table = pd.read_csv(checkout.results / "report" / "tables" / "self_explanations.csv")
    table = table.set_index("group")
    assert {*table.index} == {"female", "male"}
    for group, written in answers.groupby("group"):
        row = table.loc[group]
        assert row["n_answers"] == len(written)
        assert row["unread"] == pytest.approx((written["named_words"] == 0).mean())
        for name in ("answer_words", "named_words", "foreign_words"):
            assert row[name] == pytest.approx(written[name].mean())
    page = (checkout.results / "report" / "index.html").read_text()
    section = re.search(r'<section id="self_explanations".*?</section>', page, re.DOTALL)
    assert section
    assert section[0].count(f'<td class="r">{len(answers) // 2}</td>') == 2
