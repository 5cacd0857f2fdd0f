"""The server, which lets workers wait for ``PATIENCE`` milliseconds."""

import os
import sys

from exparity.warm import server

server._PATIENCE = int(os.environ["PATIENCE"])
server.main(int(sys.argv[1]), *sys.argv[2:])
