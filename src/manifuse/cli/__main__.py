"""``python -m manifuse.cli``: the command line where the script is not on the path."""

from manifuse.cli.app import main

main()
