"""What a plan says of bfloat16 on the processor of this machine."""

from __future__ import annotations

import re
from pathlib import Path

from exparity.config.experiment import Experiment

FACTS_OF_PROCESSOR = Path("/proc/cpuinfo")
_AMX = "amx_bf16"
_AVX = "avx512_bf16"
_RATES = {
    _AMX: "LIME and SHAP with a MiniLM took 0.3 and 0.4 times as long in bf16 "
    "(docs/performance.md)",
    _AVX: "bf16 may take less time, but was not measured",
}
_CHANGES = "it changes results: docs/models.md#how-models-are-run"


def instructions_in_bf16() -> str | None:
    """Return the processor's instructions that multiply in bfloat16: AMX, AVX-512 or none at all.

    None says that the system does not tell.
    """
    try:
        facts = FACTS_OF_PROCESSOR.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    flags = re.search(r"^flags\s*:(.*)$", facts, re.MULTILINE)
    if flags is None:  # of a processor that has other names for them
        return None
    instructions = flags[1].split()
    return next((name for name in _RATES if name in instructions), "")


def precision_line(experiment: Experiment, device: str) -> str:
    """Return a line on the arithmetic of jobs that explain and score on a CPU; empty elsewhere.

    The precision is a setting of the study, so that a plan explains and never chooses it.
    """
    runs_models = any(settings.spec.predict is None for settings in experiment.models.values())
    if device != "cpu" or not experiment.methods or not runs_models:
        return ""
    instructions = instructions_in_bf16()
    if instructions is None:
        return ""
    chosen = f"precision: {experiment.config.precision}"
    if experiment.config.precision == "bf16" and not instructions:
        return f"{chosen}, which this processor has no instructions for: fp32 would take less time"
    if experiment.config.precision != "fp32":
        return chosen
    if not instructions:
        return f"{chosen}; bf16 would take longer, since this processor has no instructions for it"
    rate = f"{_RATES[instructions]} on a processor with {instructions}, as this one"
    return f"{chosen}; {rate}; {_CHANGES}"
