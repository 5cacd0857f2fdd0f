"""Model bias: how the classifiers themselves treat the groups."""

from __future__ import annotations

from exparity.report.context import Content, Context, Section


def _build(context: Context) -> Content:
    return Content({"bias_tables": context.bias_tables})


SECTION = Section("bias", "Model bias", _build)
