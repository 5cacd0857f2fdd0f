def get_default_config():
    path = Path(workflow.current_basedir).parents[1] / "config" / "config.yaml"
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WorkflowError(
            f"{path}: not UTF-8 text ({error.reason}); save it as UTF-8"
        )
    return path


# A config given on the command line, or by a workflow that imports this one, is whole in itself; it is
# not merged into the default.
if not workflow.overwrite_configfiles and not workflow.modifier.skip_configfile:

    configfile: get_default_config()
