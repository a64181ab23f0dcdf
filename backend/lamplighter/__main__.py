"""`python -m lamplighter`."""

from lamplighter.cli import main

main()
