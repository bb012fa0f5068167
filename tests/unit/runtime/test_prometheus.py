"""Metrics that a strict reader takes, whatever owners are called."""

import re

from copriv.runtime.prometheus import Metric, Sample, as_text

LINE = re.compile(r'[a-z_]+\{owner="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z]+="[^"\\\n]*")?\} \S+')
NAMES = [
    'a"b',
    "a\\",
    "a\nb",
    "\x1b[2J",
    '"} 1\ncopriv_x{owner="',
    "x" * 10_000,
    "x" * 10_000 + "y",
    "x" * 9_999,
    "é\u2028",
]


def test_every_name_is_one_line_and_no_two_are_the_same():
    metric = Metric("copriv_answers", "counter", "Answers.", tuple(Sample(1, {"owner": name}) for name in NAMES))
    _help, _type, *lines = as_text([metric]).splitlines()
    assert len(lines) == len(NAMES)
    assert all(LINE.fullmatch(line) for line in lines)
    assert len(set(lines)) == len(lines)
    assert max(map(len, lines)) < 1000
