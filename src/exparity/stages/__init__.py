"""The stages of the workflow: each reads artefacts and writes artefacts, and knows no config."""
