"""python -m pfnset: the program."""

from ._program import main

main()
