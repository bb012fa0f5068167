"""Does the noise keep the promise, and does nothing else leave? Attacks on owners as they are, with synthetic records.

Four tests of the noise, each of which ends in a certified lower bound of ε to hold against the claimed one: the size of
the noise over a whole transcript, a likelihood ratio between two neighbouring tables, the low bits of what leaves an
owner, and a search for neighbours that move the exact answer further than declared. What the noise should be is derived
here a second time, from the guarantee and nothing else, so that a mistake in `privacy` cannot hide itself. A fifth
(`whole_reply`) compares everything else that leaves, for raw files that differ in one record. docs/audit.md has the
methods.
"""
