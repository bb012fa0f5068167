"""What options may say about a file, and what they may not."""

import msgspec
import pytest

from copriv.errors import BadInput
from copriv.records.file_format import PLAIN, FileFormat, parse_format


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"encoding": "latin-1"}, FileFormat(encoding="iso8859-1")),
        ({"encoding": "Windows-1252"}, FileFormat(encoding="cp1252")),
        ({"encoding": "UTF8"}, FileFormat(encoding="utf-8")),
        ({"encoding": "utf-8-sig"}, FileFormat(encoding="utf-8")),
        ({"encoding": "utf-16"}, FileFormat(encoding="utf-16")),
        ({"delimiter": "semicolon"}, FileFormat(delimiter=";")),
        ({"delimiter": "\\t"}, FileFormat(delimiter="\t")),
        ({"delimiter": "^"}, FileFormat(delimiter="^")),
        ({"decimal": "comma"}, FileFormat(decimal=",")),
        ({"dates": "%d-%b-%y"}, FileFormat(dates="%d-%b-%y")),
        ({}, PLAIN),
    ],
)
def test_what_can_be_said(given, found):
    assert parse_format(**given) == found
    assert msgspec.json.decode(msgspec.json.encode(found), type=FileFormat) == found


@pytest.mark.parametrize(
    "name", ["gbk", "shift_jis", "utf-7", "hz", "utf-32", "idna", "cp037", "base64", "klingon", ""]
)
def test_an_encoding_in_which_letters_depend_on_each_other_is_refused(name):
    with pytest.raises(BadInput, match="--encoding") as caught:
        parse_format(encoding=name)
    assert "latin-1" in caught.value.remedy


def test_every_byte_of_the_encodings_taken_is_one_letter_and_ascii_is_itself():
    ascii_bytes = bytes(range(128))
    for name in ("latin-1", "iso8859-15", "cp1250", "cp1252", "cp437", "cp850", "cp866", "koi8-r", "mac-roman"):
        codec = parse_format(encoding=name).encoding
        letters = [bytes([byte]).decode(codec, "replace") for byte in range(256)]
        assert bytes(range(256)).decode(codec, "replace") == "".join(letters)
        assert ascii_bytes.decode(codec) == ascii_bytes.decode("ascii")


@pytest.mark.parametrize(
    "given",
    [
        *({"delimiter": mark} for mark in ("", ";;", "a", "1", '"', "\n", ".", "-", "é", "tabs")),
        *({"decimal": mark} for mark in ("", ";", "period")),
        *(
            {"dates": form}
            for form in ("", "%Y%m%d", "%m.%Y", "%d.%m", "%d.%m.%Y %H", "%s", "d.m.Y", "%d%m.%Y", "%d.%m.%Y%")
        ),
    ],
)
def test_what_is_not_clear_is_refused_by_name(given):
    [(name, value)] = given.items()
    with pytest.raises(BadInput, match=f"--{name}") as caught:
        parse_format(**given)
    assert caught.value.remedy
    assert caught.value.value == value


def test_a_format_from_a_file_that_was_edited_is_checked():
    with pytest.raises(BadInput, match="gbk"):
        msgspec.json.decode(b'{"encoding": "gbk"}', type=FileFormat)
    with pytest.raises(BadInput, match="tab"):
        FileFormat(delimiter="tab")
