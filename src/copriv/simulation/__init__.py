"""Whole consortia on one machine: owners in this process, pilots on public rows, seeded twins of the noise."""
