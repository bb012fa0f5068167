"""The newest receipt of each ledger outlives the study and the process."""

from contextlib import closing

import pytest

from copriv.errors import CoprivError
from copriv.learner.receipt_store import ReceiptStore


def test_the_newest_receipt_of_each_ledger_is_kept(tmp_path):
    path = tmp_path / "state" / "receipts.sqlite"
    with closing(ReceiptStore(path)) as store:
        assert store.newest("a") is None
        for ledger, receipt in (("a", "1"), ("b", "2"), ("a", "3")):
            store.keep(ledger, receipt)
    with closing(ReceiptStore(path)) as store:
        assert (store.newest("a"), store.newest("b")) == ("3", "2")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_what_is_no_store_is_said_to_be_none(tmp_path):
    path = tmp_path / "receipts.sqlite"
    path.write_text("nothing of the kind, and long enough to be taken for the header of a database" * 20)
    with pytest.raises(CoprivError, match="receipts"):
        ReceiptStore(path)
