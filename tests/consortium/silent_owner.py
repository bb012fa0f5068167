"""An owner's process without noise, for comparing runs number by number: `python silent_owner.py FOLDER`.

The product has no such switch. This is `copriv owner serve` with another responder, and it answers the same way.
"""

import asyncio
import sys
from pathlib import Path

from copriv.owner.owner import Owner
from copriv.owner.workspace import OwnerWorkspace, prepare
from copriv.runtime.events import silent
from copriv.runtime.owner_client import answer
from copriv.runtime.owner_log import OwnerLog
from copriv.runtime.simulated_responder import SilentResponder


def main(folder):
    home = OwnerWorkspace(folder)
    ledger = home.open_ledger()
    prepared = prepare(home.enrollment, home.study)
    responder = SilentResponder(prepared.sample, prepared.commitment)
    owner = Owner(home.enrollment.owner, home.study.terms, prepared.commitment, responder, ledger)
    log = OwnerLog(home, ledger, silent)
    asyncio.run(answer(home, owner, prepared.sample.records, log))
    ledger.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
