"""A module that has a thread from its import on, as libraries have."""

import threading

threading.Thread(target=threading.Event().wait, daemon=True).start()
