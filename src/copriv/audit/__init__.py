"""Does the noise keep the promise? Attacks on an owner's real answer path, with synthetic records.

Four tests, each of which ends in a certified lower bound of ε to hold against the claimed one: the size of the noise
over a whole transcript, a likelihood ratio between two neighbouring tables, the low bits of what leaves an owner, and
a search for neighbours that move the exact answer further than declared. What the noise should be is derived here a
second time, from the guarantee and nothing else, so that a mistake in `privacy` cannot hide itself. docs/audit.md has
the methods.
"""
