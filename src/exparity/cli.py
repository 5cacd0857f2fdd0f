"""The command line: ``exparity <stage>``, what the workflow's rules call.

Every stage takes its options as flags for people, or as one JSON object (``--options``) from the
workflow. What each does is in :mod:`exparity.commands`.
"""

from __future__ import annotations

import errno
import gc
import logging
import os
import sys
from collections.abc import Sequence

from exparity.arguments import build_parser
from exparity.commands import COMMANDS
from exparity.core.errors import ExparityError
from exparity.core.escaping import LogFormatter, visible
from exparity.jobs.stop import Stopped

log = logging.getLogger("exparity")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: arguments; those of the process if None.

    Returns:
        0 on success, 2 on bad input, 1 on another failure with a known cause, 143 after a TERM.
    """
    arguments = build_parser(COMMANDS).parse_args(argv)  # sys.argv if None
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    logging.captureWarnings(True)
    for noisy in ("httpx", "httpcore", "urllib3", "huggingface_hub", "filelock", "fontTools"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if argv is None:
        _spare_pandas()
    try:
        from exparity.artefacts.files import job
        from exparity.commands.inputs import lineage_of
        from exparity.core.registry import load_plugin

        for plugin in getattr(arguments, "plugins", None) or []:
            load_plugin(plugin)
        with job(), lineage_of(arguments):
            arguments.run(arguments)
    except ExparityError as error:
        _complain(error)
        return error.exit_code
    except Stopped as stopped:
        _complain(stopped)
        return stopped.exit_code
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader (head, say) has what it wanted; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _complain(_explained(error))
        return 1
    return 0


def run() -> None:
    """Run the command line as a process of its own.

    A job of a second must not spend half of it on garbage collection while modules load, or on
    taking torch's modules down again at the end.
    """
    gc.set_threshold(100_000, 50, 100)
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _complain(problem: object) -> None:
    print(f"exparity: {visible(problem)}", file=sys.stderr)


def _spare_pandas() -> None:
    """Keep pyarrow from importing pandas, which would double the time of a one-second job.

    It does so on its first conversion, to recognise pandas objects, and remembers the outcome for
    the rest of the process. No stage hands it such objects.
    """
    import pyarrow as pa

    class NoPandas:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "pandas":
                raise ModuleNotFoundError(name)

    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, NoPandas)
        pa.array([0])
        sys.meta_path.remove(NoPandas)


def _explained(error: OSError) -> str:
    """Return what the system would not do, to which file, and what to do about it."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        # Libraries put words of their own around the system's.
        reason = f"{os.strerror(error.errno)}; make room and run again, what is finished is kept"
    return f"{error.filename}: {reason}" if error.filename else reason
