"""What a plan says of bfloat16 by the processor that it runs on."""

import pytest
from support import TINY

from exparity.config.experiment import Experiment
from exparity.costs import precision

KINDS = {
    "amx": "flags\t\t: fpu avx512_bf16 amx_bf16 amx_tile",
    "avx": "flags\t\t: fpu avx512_bf16",
    "neither": "flags\t\t: fpu avx2",
    "other": "Features\t: fp asimd bf16",
}


@pytest.fixture
def line(tmp_path, monkeypatch):
    """The line of a plan on a processor of some kind."""

    def said(kind, device="cpu", **changes):
        facts = tmp_path / "cpuinfo"
        monkeypatch.setattr(precision, "FACTS_OF_PROCESSOR", facts)
        if kind:
            facts.write_text(f"processor\t: 0\n{KINDS[kind]}\nbugs\t\t: none\n")
        return precision.precision_line(Experiment.from_mapping({**TINY, **changes}), device)

    return said


def test_what_bf16_would_save_is_said_where_the_processor_has_it(line):
    assert line("amx") == (
        "precision: fp32; LIME and SHAP with a MiniLM took 0.3 and 0.4 times as long in bf16 "
        "(docs/performance.md) on a processor with amx_bf16, as this one; it changes results: "
        "docs/models.md#how-models-are-run"
    )
    assert "not measured on a processor with avx512_bf16, as this one" in line("avx")
    assert line("neither") == (
        "precision: fp32; bf16 would take longer, since this processor has no instructions for it"
    )


def test_a_choice_that_takes_longer_is_said_and_kept(line):
    assert line("neither", precision="bf16") == (
        "precision: bf16, which this processor has no instructions for: fp32 would take less time"
    )
    assert line("amx", precision="bf16") == "precision: bf16"


@pytest.mark.parametrize("kind", ["other", None])
def test_nothing_is_said_of_a_processor_that_is_not_known(line, kind):
    assert line(kind) == ""


def test_nothing_is_said_where_no_model_runs_on_a_cpu(line):
    assert line("amx", "cuda") == ""
    assert line("amx", methods={}, metrics={}) == ""
