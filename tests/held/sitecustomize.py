"""With this folder on its path a process waits before it puts a certain file into place.

Python imports this module when it starts. Before something is renamed to a path that ends with
``HELD_AT``, the process makes a file ``waits`` in the folder ``HELD_WHILE``, and goes on when that
folder is gone. With ``HELD_AFTER`` it waits only where so many files with this end lie already.
"""

import os
import sys
import time

os.fsync = lambda handle: None  # as in tests/conftest.py


def _hold(event, arguments):
    place, folder = os.environ.get("HELD_AT"), os.environ.get("HELD_WHILE")
    if event != "os.rename" or not place or not os.fsdecode(arguments[1]).endswith(place):
        return
    beside = os.listdir(os.path.dirname(os.fsdecode(arguments[1])) or ".")
    finished = sum(name.endswith(place) and name[0] != "." for name in beside)
    if finished < int(os.environ.get("HELD_AFTER", "0")):
        return
    if os.path.isdir(folder):
        with open(os.path.join(folder, "waits"), "w"):
            pass
    while os.path.isdir(folder):
        time.sleep(0.01)


if "HELD_AT" in os.environ:
    sys.addaudithook(_hold)
