"""``python -m documentation``: scripts/docs."""

import sys

from documentation.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
