"""The learner: asks one owner at a time and mixes the answers into one model; it never sees a record."""
