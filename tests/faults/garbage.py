"""Messages that an owner may get from a broken, an old or a hostile learner: mutations of a valid query, and noise."""

import math
import random
import struct

import msgspec
import world

from copriv.privacy.release import Release
from copriv.protocol.messages import Answer, Refusal
from copriv.protocol.wire import encode, largest_query

ODD_NUMBERS = (math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.0000000000000004, -2.1, 1e308, -0.0, 2**63, -(2**63))
ODD_VALUES = (None, True, 0, -1, 2**64 - 1, -(2**63), 1.5, math.nan, "x", b"x", [], {}, [[]], {"": None}, "q" * 300)
ODD_SEQUENCES = (0, -1, -(2**63), 2**31, 2**63 - 1, 2**63, 2**64 - 1, 7, 10**6)
ODD_NAMES = ("", "q" * 200, "q" * 201, "q" * 3000, "\0", "\U0001f4a3" * 150, "a\nb", "'; DROP TABLE entry; --", "ü")
FIELDS = ("type", "id", "terms", "owner", "theta", "receipt")


class Garbage:
    """An endless, repeatable stream of messages; about one in thirty is a valid query, new or repeated."""

    def __init__(self, seed, receipt):
        self._chance = random.Random(seed)  # noqa: S311 - it has to repeat
        self._receipt, self._valid, self._mutations = receipt, [], self._list_mutations()

    def message(self):
        return self._chance.choice(self._mutations)()

    def _list_mutations(self):
        whole = (self._valid_one, self._repeated, self._same_id_other_model)
        fields = (self._odd_field, self._missing_field, self._extra_field, self._odd_name, self._other_owner)
        fields += (self._other_terms, self._odd_number, self._wrong_length, self._odd_receipt, self._own_receipt)
        raw = (self._flipped, self._truncated, self._continued, self._random, self._bad_text, self._deep)
        raw += (self._deep_field, self._twice_a_field, self._reflected, self._torn_together, self._claims_to_be_long)
        return whole + 4 * fields + 4 * raw

    def _fields(self):
        """A valid query that nobody has asked yet."""
        theta = [self._chance.uniform(-world.TERMS.limit, world.TERMS.limit) for _ in range(world.TERMS.parameters)]
        name = f"q{self._chance.getrandbits(40)}"
        return {"type": "query", "id": name, "terms": world.TERMS.digest(), "owner": world.NAMES[0], "theta": theta}

    def _with(self, **changes):
        return msgspec.msgpack.encode(self._fields() | changes)

    # -- valid ones, in any order ----------------------------------------------------------------

    def _valid_one(self):
        self._valid.append(self._fields())
        return msgspec.msgpack.encode(self._valid[-1])

    def _repeated(self):
        return msgspec.msgpack.encode(self._chance.choice(self._valid)) if self._valid else self._valid_one()

    def _same_id_other_model(self):
        return self._with(id=self._chance.choice(self._valid)["id"]) if self._valid else self._valid_one()

    # -- wrong fields ----------------------------------------------------------------------------

    def _odd_field(self):
        return self._with(**{self._chance.choice(FIELDS): self._chance.choice(ODD_VALUES)})

    def _missing_field(self):
        fields = self._fields()
        del fields[self._chance.choice(FIELDS[:-1])]
        return msgspec.msgpack.encode(fields)

    def _extra_field(self):
        return self._with(**{f"f{self._chance.random()}": self._chance.choice(ODD_VALUES), "id": ""})

    def _odd_name(self):
        return self._with(id=self._chance.choice(ODD_NAMES))

    def _other_owner(self):
        return self._with(owner=self._chance.choice((*world.NAMES[1:], *ODD_NAMES, world.NAMES[0].upper())))

    def _other_terms(self):
        return self._with(terms=self._chance.choice((*ODD_NAMES, world.TERMS.digest().upper(), "0" * 64)))

    def _odd_number(self):
        theta = self._fields()["theta"]
        theta[self._chance.randrange(len(theta))] = self._chance.choice(ODD_NUMBERS)
        return self._with(theta=theta)

    def _wrong_length(self):
        length = self._chance.choice((0, 1, 3, 5, 64, 300))
        return self._with(theta=[self._chance.random() for _ in range(length)])

    def _odd_receipt(self):
        old = [self._chance.choice(ODD_SEQUENCES), "f" * 64]
        return self._with(receipt=self._chance.choice((*ODD_NAMES, "f" * 64, f"1:{'f' * 64}", old, old[0])))

    def _own_receipt(self):
        return self._with(receipt=self._chance.choice((self._receipt[:-1], self._receipt + "0", self._receipt.upper())))

    # -- wrong bytes -----------------------------------------------------------------------------

    def _flipped(self):
        data = bytearray(self._with())
        for _ in range(self._chance.choice((1, 1, 2, 8))):
            data[self._chance.randrange(len(data))] ^= 1 << self._chance.randrange(8)
        return bytes(data)

    def _truncated(self):
        data = self._with()
        return data[: self._chance.randrange(len(data))]

    def _continued(self):
        return self._with() + self._chance.randbytes(self._chance.choice((1, 9, 2000)))

    def _random(self):
        return self._chance.randbytes(self._chance.choice((0, 1, 2, 30, 300, largest_query(4), largest_query(4) + 1)))

    def _bad_text(self):
        place = self._chance.choice(("id", "terms", "owner", "type"))
        data = self._with(**{place: "@@@@"})
        return data.replace(b"@@@@", self._chance.choice((b"\xff\xfe\xfd\xfc", b"\xed\xa0\x80a", b"\xc0\x80\xc0\x80")))

    def _deep(self):
        one = self._chance.choice((b"\x91", b"\x81\xa1a", b"\xdd\x00\x00\x00\x01"))
        return one * self._chance.choice((10, 400, 4000 // len(one))) + b"\xc0"

    def _deep_field(self):
        """Nested in a field that the protocol does not know, or in one that it does."""
        data = self._with(**{self._chance.choice(("unknown", "theta", "receipt", "id")): "@@@@"})
        return data.replace(b"\xa4@@@@", self._deep())

    def _twice_a_field(self):
        data = self._with(id="@@@@")
        return (
            bytes([data[0] + 1]) + data[1:] + msgspec.msgpack.encode("theta") + msgspec.msgpack.encode([math.nan] * 4)
        )

    def _reflected(self):
        """An owner's own kinds of messages, sent back."""
        release = Release("q", "laplace", 1.0, 1.0, "L1", 1, "epsilon")
        answer = Answer("q", world.NAMES[0], (0.0,) * 4, release, "0" * 64)
        return encode(self._chance.choice((answer, Refusal("q", world.NAMES[0], "failed", ""))))

    def _torn_together(self):
        one, other = self._with(), self._with()
        place = self._chance.randrange(len(one))
        return one[:place] + other[self._chance.randrange(len(other)) :]

    def _claims_to_be_long(self):
        header = self._chance.choice((b"\xdb", b"\xdd", b"\xdf", b"\xc6", b"\xc9"))
        return header + struct.pack(">I", self._chance.choice((2**32 - 1, 2**31, 10**8))) + self._with()
