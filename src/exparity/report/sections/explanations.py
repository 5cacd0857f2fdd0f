"""Explanations side by side: a sample of matched sets with their attributions."""

from __future__ import annotations

from typing import Any

from exparity.report.context import Context
from exparity.report.sample import Member, Sample, sets_per_classifier
from exparity.report.sections.section import Content, Section


def _member(member: Member, sample: Sample) -> dict[str, Any]:
    """Return a member with lists in the order of the sample's methods and metrics."""
    return {
        **{k: v for k, v in member.items() if k not in ("attributions", "scores")},
        "attributions": [member["attributions"].get(method) for method in sample.methods],
        "scores": [
            [member["scores"].get(method, {}).get(metric) for metric in sample.metrics]
            for method in sample.methods
        ],
    }


def _build(context: Context) -> Content | None:
    study = context.study
    samples = [sample for sample in context.samples if sample.sets]
    if not samples:
        return None
    return Content(
        values={
            "limit": sets_per_classifier(study),
            "seed": samples[0].seed,
            "shown": sum(len(sample.sets) for sample in samples),
            "available": sum(sample.available for sample in samples),
            "missing": sum(len(sample.missing) for sample in context.samples),
        },
        data={
            "methods": {id: study.display("method", id) for id in study.methods},
            "metrics": {
                id: [study.display("metric", id), study.metric_facts(id).direction]
                for id in study.metrics
            },
            "samples": [
                {
                    "dataset": sample.dataset,
                    "name": study.display("dataset", sample.dataset),
                    "model": sample.model,
                    "classes": study.declared(sample.dataset).classes,
                    "methods": sample.methods,
                    "metrics": sample.metrics,
                    "sets": [[_member(m, sample) for m in members] for members in sample.sets],
                }
                for sample in samples
            ],
        },
    )


SECTION = Section("explanations", "Explanations", _build, script="explanations.js")
