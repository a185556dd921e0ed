"""Build the layers and functions as the local stack does.

python -m custody_local.build MODEL
"""

from __future__ import annotations

import sys

from custody_local import deployment
from custody_local.errors import LocalStackError
from custody_local.paths import LOCAL
from custody_local.progress import Progress


def main() -> int:
    try:
        print(deployment.build(sys.argv[1], LOCAL / "build" / "sam", Progress()))
    except LocalStackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
