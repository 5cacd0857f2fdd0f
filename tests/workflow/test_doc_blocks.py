"""Python of the docs that reads results, on those of a finished run."""

import re

import pytest
import test_doc_blocks as docs

pytestmark = pytest.mark.workflow
# Results of other experiments, and with which config they come.
OTHER_RESULTS = {
    "results/debiasing-example": "the config beside it; tests/debiasing run such trainings",
    "results/correctness": "config/correctness.yaml",
    "results/geco": "config/geco.yaml",
    "results/judged": "config/judged.yaml",
    '"correctness")': "an analysis that the tiny run has not",
}


def reading() -> list[tuple[str, str]]:
    """The blocks that need results, each with its page."""
    return [
        (page.name, code)
        for page in docs.with_blocks("python")
        if page.name not in docs.ELSEWHERE
        for code in docs.blocks(page, "python")
        if docs.NEEDS_RESULTS.search(code) and docs.is_run(code)
    ]


def test_blocks_that_read_results_run(baseline, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    docs.keep_registries(monkeypatch)
    (tmp_path / "results").symlink_to(baseline.results)
    ran = 0
    for page, code in reading():
        if any(other in code for other in OTHER_RESULTS):
            continue
        code = re.sub(r"models/\w+/bert_scratch", "models/pairs_all/bert_tiny", code)
        code = re.sub(r"(['\"/])bios(?:_planted)?\b", r"\1pairs_all", code)
        for here, there in (("bert_scratch", "bert_tiny"), ("'lime'", "'gradient'")):
            code = code.replace(here, there)
        exec(compile(code.replace('"lime"', '"gradient"'), page, "exec"), {})
        ran += 1
    assert ran > 8
