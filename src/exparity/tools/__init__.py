"""Commands that people call beside the workflow: plan, show, data, bench."""
