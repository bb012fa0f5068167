"""Files of blocks are read as they were written, wherever they lie and whatever numbers their rows have."""

from pathlib import Path

import polars as pl
import pytest
from tests.arriving_blocks import append, ledger_of, rows_read, state_of, write

from copriv.api.hazard import expand_periods
from copriv.errors import BadInput, BadTable, LedgerRefusal
from copriv.owner import arrival as module
from copriv.owner.dataset_ledger import Word
from copriv.owner.joining import settle_joining
from copriv.owner.registry import Registry
from copriv.privacy.guarantee import Guarantee
from copriv.records.file_format import PLAIN, FileFormat


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return ledger_of(tmp_path)


TABLES = ("table", "sheet")
NAMES = ("Jürgen", "Zoë", "Çelik", "plain")


def _excel(place, people, start=0):
    """A table as a spreadsheet of another country writes it: latin-1, semicolons, decimal commas."""
    rows = [f"{who};{f'{(start + row) / 2:.1f}'.replace('.', ',')};{row % 7}" for row, who in enumerate(people)]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes("\n".join(["who;x;y", *rows, ""]).encode("latin-1"))
    return place.absolute()


SHEET = FileFormat(encoding="iso8859-1", delimiter=";", decimal=",")


def _open(data, form=PLAIN):
    """A ledger as `copriv owner join` makes it: it was said how the file is written."""
    place = Path("form.sqlite").absolute()
    with Registry() as registry:
        joining = settle_joining(registry, registry.lookup(data, form=form), Word("me"), None, place)
    joining.take("clinic", Guarantee.of("1"), "pld")
    return place


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("sheet_first", [False, True])
def test_every_file_is_read_in_its_own_form(tmp_path, monkeypatch, folder, sheet_first):
    """Jürgen has one account, whichever of the two files is the spreadsheet; each may be a folder of two files."""
    monkeypatch.chdir(tmp_path)
    Path("table").mkdir()
    half = len(NAMES) // 2 if folder else len(NAMES)
    write("table/1.parquet", NAMES[:half], 500)
    _excel(Path("sheet/1.csv"), NAMES[:half])
    if folder:
        write("table/2.parquet", [*NAMES[half:], "new"], 600)
        _excel(Path("sheet/2.csv"), NAMES[half:], 100)
    table, sheet = (Path(name).absolute() if folder else next(Path(name).absolute().iterdir()) for name in TABLES)
    first, later = ((sheet, SHEET), (table, PLAIN)) if sheet_first else ((table, PLAIN), (sheet, SHEET))
    ledger = _open(*first)
    told = append(ledger, "later", later[0], form=later[1])
    assert (told.units, told.returning) == (int(folder and sheet_first), 4)
    people = 5 if folder and not sheet_first else 4
    assert {name: block.arrival.units for name, block in told.state.blocks.items()}["first"] == people
    assert sorted(set(rows_read(ledger, "first", until="later"))) == sorted([*NAMES, "new"][:people])


def test_the_first_file_may_lie_elsewhere_before_it_is_a_block(ledger):
    moved = Path("first.parquet").rename("elsewhere.parquet").absolute()
    with pytest.raises(BadInput, match="is not where it was"):
        append(ledger, "a", write("a.parquet", ["q1"], 100))
    assert append(ledger, "first", moved).units == 20
    assert append(ledger, "a", Path("a.parquet").absolute()).units == 1


def test_a_form_that_nobody_knows_can_be_said_once(tmp_path, monkeypatch):
    """`ledger init` asks for no form: the first file can be appended as the block `first`, as it is written."""
    monkeypatch.chdir(tmp_path)
    ledger = _open(_excel(Path("sheet.csv"), NAMES))
    with pytest.raises(BadInput, match="known as a part"):
        append(ledger, "other", Path("sheet.csv").absolute(), form=SHEET)
    assert append(ledger, "first", Path("sheet.csv").absolute(), form=SHEET).units == 4
    assert append(ledger, "a", write("a.parquet", [*NAMES, "new"], 300)).returning == 4


def _latin(name, people, start, encoding="latin-1"):
    """A plain CSV but for its letters."""
    rows = [f"{who},{start + row}.5,{row}" for row, who in enumerate(people)]
    Path(name).write_bytes("\n".join(["who,x,y", *rows, ""]).encode(encoding))
    return Path(name).absolute()


def test_ids_in_an_encoding_that_nobody_has_said_are_refused(tmp_path, monkeypatch):
    """Read as UTF-8, Jürgen of the first file is J\ufffdrgen, and would come back as somebody new."""
    monkeypatch.chdir(tmp_path)
    ledger, later = _open(_latin("first.csv", NAMES, 0)), _latin("later.csv", [*NAMES, "new"], 500, "utf-8")
    match = "'who' of first.csv has ids with letters that could not be read.*--encoding latin-1.*--block first"
    with pytest.raises(BadTable, match=match):
        append(ledger, "later", later)
    assert not any(block.arrival for block in state_of(ledger).blocks.values())
    append(ledger, "first", Path("first.csv").absolute(), form=FileFormat(encoding="iso8859-1"))
    assert append(ledger, "later", later).returning == 4
    third = _latin("third.csv", ["Jürgen", "plain"], 900)
    with pytest.raises(BadTable, match=r"'who' of third\.csv has ids with letters"):
        append(ledger, "third", third)
    assert append(ledger, "third", third, form=FileFormat(encoding="iso8859-1")).returning == 2


def test_a_twin_that_takes_letters_that_it_cannot_read_gives_second_accounts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("copriv.records.block_files.require_kept", lambda *_given: None)
    ledger = _open(_latin("first.csv", NAMES, 0))
    assert append(ledger, "later", _latin("later.csv", NAMES, 500, "utf-8")).units == 3


def test_the_first_file_may_lie_elsewhere(ledger):
    append(ledger, "a", write("a.parquet", ["q1"], 100))
    moved = Path("first.parquet").rename("elsewhere.parquet").absolute()
    append(ledger, "first", moved)
    assert state_of(ledger).blocks["first"].arrival.path == str(moved)
    with pytest.raises(BadInput, match="another file than that of the block 'first'"):
        append(ledger, "first", write("b.parquet", ["r1"], 900), unrelated=True)


def test_only_what_the_ledger_was_opened_for_is_its_first_block(ledger):
    with pytest.raises(LedgerRefusal, match="the first block is not what the ledger was opened for"):
        append(ledger, "first", write("b.parquet", ["r1"], 900), unrelated=True)
    assert append(ledger, "b", Path("b.parquet").absolute()).units == 1


def test_ids_in_groups_of_three_are_the_same_in_every_form(ledger):
    """A file with decimal commas reads 12.345.678 as a number; so must all others, or somebody has two accounts."""
    cards = ["12.345.678", "1.234", "756.1234.5678.97"]
    append(ledger, "sheet", _excel(Path("a.csv"), cards, 700), form=SHEET)
    told = append(ledger, "text", write("b.parquet", [*cards, "new"], 800))
    assert (told.units, told.returning) == (1, 3)
    assert append(ledger, "number", write("c.parquet", [12_345_678, 1234, 5], 900)).returning == 2


def test_a_file_that_has_moved_is_read_as_it_was(ledger):
    append(ledger, "a", _excel(Path("a.csv"), NAMES, 700), form=SHEET)
    append(ledger, "a", Path("a.csv").rename("b.csv").absolute())
    assert rows_read(ledger, "a", until="a") == sorted(NAMES)


def _periods(name, start, **naming):
    """A file of `copriv periods` about six lives."""
    lives = pl.DataFrame({"months": [1.0, 5.0] * 3, "died": [0, 1] * 3, "age": [start + 0.5 * row for row in range(6)]})
    lives = lives.with_columns(card=pl.Series([f"c{start + row}" for row in range(5)] + [None]))
    return expand_periods(lives, "months", "died", [3, 6], Path(name), **naming) is not None and Path(name).absolute()


@pytest.mark.parametrize(
    ("naming", "returning"), [({"prefix": "march"}, 0), ({"person": "card", "prefix": "march"}, 2)]
)
def test_records_of_another_file_of_periods_are_other_records(tmp_path, monkeypatch, naming, returning):
    monkeypatch.chdir(tmp_path)
    ledger = _open(_periods("february.parquet", 0, **{**naming, "prefix": "february"}))
    told = append(ledger, "march", _periods("march.parquet", 3, **naming), person="record")
    assert (told.units, told.returning) == (6 - returning, returning)
    assert told.state.blocks["first"].arrival.units == 6


def test_records_that_are_numbered_from_0_again_are_refused_before_they_are_taken_for_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = _open(_periods("february.parquet", 0))
    march = _periods("march.csv", 30)
    with pytest.raises(BadInput, match=r"numbered from 0, as those of another block.*--prefix"):
        append(ledger, "march", march, person="record")
    with Registry() as registry:
        assert registry.lookup(march).dataset is None
    monkeypatch.setattr(module, "numbered_from_zero", lambda _ids: False)
    assert append(ledger, "march", march, person="record").returning == 6  # the twin: six strangers are taken for known
