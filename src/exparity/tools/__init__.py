"""Commands that people call beside the workflow: audit, plan, show, compare, data and so on."""
