"""Messages that a learner may get from a broken, an old or a hostile owner: mutations of valid ones, and noise.

Hellos and claims come on the owner's own subjects, replies to a query that the learner has put. About one in twenty is
valid, so that the mutations find a learner that has something to lose.
"""

import math
import random
import struct

import msgspec

from copriv.protocol.meeting import VERSION

ODD_NUMBERS = (
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    -5e-324,
    1e308,
    -1e308,
    1e3,
    -0.0,
    0,
    -1,
    2**63,
    2**64 - 1,
    -(2**63),
)
ODD_VALUES = (None, True, *ODD_NUMBERS, 1.5, "x", b"x", [], {}, [[]], {"": None}, "q" * 3000)
ODD_WORDS = (
    *("", "q" * 501, "\0", "\U0001f4a3" * 50, "a\nb", "a\r\nPUB x 1\r\n\r\n", "\x1b[2J\x1b]0;x\x07", "[/x]", "[bold]b"),
    *(
        "[link=http://x]y[/link]",
        "\u202etxt",
        "<script>",
        "*",
        ">",
        "a.b",
        "a b",
        "\x7f",
        "\x85",
        "\ud7ff",
        "{0}",
        "%s",
    ),
)
_TAGS = ("hello", "claim", "welcome", "turned away", "call", "answer", "refusal", "query", "", "hello\n", None, 3)


class Hearsay:
    """An endless, repeatable stream of messages of one owner."""

    def __init__(self, seed, terms, owner):
        self.chance = random.Random(seed)  # noqa: S311 - it has to repeat
        self._terms, self._owner = terms, owner

    # -- valid ones --------------------------------------------------------------------------------

    def hello(self):
        """What an honest owner says of itself."""
        fields = {"type": "hello", "terms": self._terms, "owner": self._owner, "instance": self._instance()}
        return fields | {
            "records": 30,
            "nano_epsilon": 10**9,
            "delta": 0.0,
            "accountant": "pure",
            "answers": 24,
            "rate": 0.0,
            "ledger": "a" * 64,
            "version": VERSION,
        }

    def claim(self):
        """An honest claim."""
        number = self.chance.randrange(3)
        return {"type": "claim", "terms": self._terms, "owner": self._owner, "instance": "a1", "number": number}

    def _instance(self):
        return self.chance.choice(("a1", "a1", f"{self.chance.getrandbits(40):x}"))

    def notice(self):
        """A hello or a claim, valid or not."""
        return self._spoil(self.chance.choice((self.hello, self.hello, self.claim))())

    def reply(self, answer):
        """An answer (as a mapping) or a refusal, valid or not."""
        refusal = {
            "type": "refusal",
            "id": answer["id"],
            "owner": answer["owner"],
            "reason": self._reason(),
            "text": "no",
        }
        return self._spoil(self.chance.choice((answer, answer, answer, refusal)))

    def _reason(self):
        return self.chance.choice(("failed", "exhausted", "rollback", "conflict", "terms", "malformed", "garbage"))

    # -- spoiled ones ------------------------------------------------------------------------------

    def _spoil(self, fields):
        if self.chance.random() < 0.05:
            return msgspec.msgpack.encode(fields)
        way = self.chance.choice(
            (self._odd_field, self._odd_field, self._odd_words, self._odd_inside, self._odd_inside)
        )
        raw = (self._flipped, self._truncated, self._continued, self._random, self._deep, self._torn, self._long)
        return way(fields) if self.chance.random() < 0.6 else self.chance.choice(raw)(fields)

    def _odd_field(self, fields):
        name = self.chance.choice((*fields, "unknown"))
        odd = self.chance.choice(_TAGS) if name == "type" else self.chance.choice(ODD_VALUES)
        changed = fields | {name: odd}
        if self.chance.random() < 0.2:
            del changed[name]
        return self._encode(changed)

    def _odd_words(self, fields):
        name = self.chance.choice([name for name, value in fields.items() if isinstance(value, str)])
        return self._encode(fields | {name: self.chance.choice(ODD_WORDS)})

    def _odd_inside(self, fields):
        """Something odd inside a list: values, release or receipt."""
        names = [name for name, value in fields.items() if isinstance(value, list) and value]
        if not names:
            return self._odd_field(fields)
        name = self.chance.choice(names)
        inner = list(fields[name])
        place = self.chance.randrange(len(inner))
        if self.chance.random() < 0.2:
            inner = inner[:place] if self.chance.random() < 0.5 else inner * self.chance.choice((2, 100))
        elif isinstance(inner[place], float) and self.chance.random() < 0.5:
            inner[place] *= self.chance.choice((-1, 1 + 1e-9, 2, 10, 100, 1e6))
        else:
            inner[place] = self.chance.choice((*ODD_NUMBERS, *ODD_WORDS))
        return self._encode(fields | {name: inner})

    def _encode(self, fields):
        try:
            return msgspec.msgpack.encode(fields)
        except OverflowError:
            return b"\xc1"

    def _flipped(self, fields):
        data = bytearray(msgspec.msgpack.encode(fields))
        for _ in range(self.chance.choice((1, 1, 2, 8))):
            data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        return bytes(data)

    def _truncated(self, fields):
        data = msgspec.msgpack.encode(fields)
        return data[: self.chance.randrange(len(data))]

    def _continued(self, fields):
        return msgspec.msgpack.encode(fields) + self.chance.randbytes(self.chance.choice((1, 9, 2000)))

    def _random(self, _fields):
        return self.chance.randbytes(self.chance.choice((0, 1, 2, 30, 300, 5000)))

    def _deep(self, fields):
        one = self.chance.choice((b"\x91", b"\x81\xa1a", b"\xdd\x00\x00\x00\x01"))
        nested = one * self.chance.choice((10, 400, 3000 // len(one))) + b"\xc0"
        data = msgspec.msgpack.encode(fields | {"owner": "@@@@"})
        return self.chance.choice((nested, data.replace(b"\xa4@@@@", nested)))

    def _torn(self, fields):
        one = msgspec.msgpack.encode(fields)
        other = msgspec.msgpack.encode(self.hello())
        return one[: self.chance.randrange(len(one))] + other[self.chance.randrange(len(other)) :]

    def _long(self, fields):
        header = self.chance.choice((b"\xdb", b"\xdd", b"\xdf", b"\xc6", b"\xc9"))
        length = struct.pack(">I", self.chance.choice((2**32 - 1, 2**31, 10**8)))
        return header + length + msgspec.msgpack.encode(fields)
