"""``python -m mcusim`` is the command ``mcusim``."""

import sys

from mcusim.commands.app import main

if __name__ == "__main__":
    sys.exit(main())
