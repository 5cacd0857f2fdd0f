"""benchmarks/definitions.py: the command behind the table at the end of docs/metrics.md."""

import sys

import pytest
from stages.cells import explain

METHODS = {
    "gradient": ("gradient", {}),
    "summed": ("integrated_gradients", {"n_steps": 2, "pooling": "sum"}),
    "normed": ("integrated_gradients", {"n_steps": 2}),
}


@pytest.fixture
def lines(cell, tmp_path, repository, monkeypatch, capsys):
    """What it prints of a small results folder: cells of each line by change."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "pairs.parquet").symlink_to(cell / "data.parquet")
    (tmp_path / "models" / "pairs" / "mine").mkdir(parents=True)
    (tmp_path / "models" / "pairs" / "mine" / "3").symlink_to(cell / "mine" / "3")
    folder = tmp_path / "explanations" / "pairs" / "mine" / "3"
    for id, (use, params) in METHODS.items():
        explain(cell, folder / f"{id}.parquet", use, params=params, method_id=id)
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import definitions

    monkeypatch.setattr(sys, "argv", ["definitions.py", str(tmp_path)])
    definitions.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    return {name: cells for name, *cells in rows[2:]}


def test_every_line_of_the_docs_table_is_printed(lines):
    names = [name for name in lines if "of integrated_gradients" not in name]
    assert names == [
        "comprehensiveness by threshold: distinct, all",
        "comprehensiveness: default, study text",
        "sufficiency by threshold: distinct, all",
        "sufficiency: default, study text",
        "sparsity: sequence, content",
        "soft_comprehensiveness: probability, logit",
        "soft_comprehensiveness: free, retained_share 0.5",
        "soft_sufficiency: probability, logit",
        "soft_sufficiency: free, retained_share 0.5",
        "rationale_token_f1: 5 absolute, 2 positive",
        "rationale_iou: 5 absolute, 2 positive",
    ]
    # Two methods without the noise; noise beside the norm for each of six metrics.
    assert {lines[name][0] for name in names} == {"2"}
    assert [cells[0] for name, cells in lines.items() if name not in names] == ["1"] * 6
