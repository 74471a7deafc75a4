"""The program, as pip installs it: the same that other packages have."""

import os
import signal
import sys

from . import _pfnset


def main():
    """Runs the program with the arguments of this process, and ends the process."""
    # The program has handlers of its own; without one, Ctrl-C ends it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _pfnset.program(["pfnset", *sys.argv[1:]])
    # Nothing of Python is left to do, and what the program has written is out.
    os._exit(code)
