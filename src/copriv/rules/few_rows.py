"""When public rows are few: too few to rely on how much they vary, and on their Hessian."""

# Of fewer public rows than so many times the parameters.
FEW = 20


def is_few(rows: int, parameters: int) -> bool:
    """Whether so many public rows say too little about a model of this length to rely on their Hessian.

    >>> is_few(219, 11), is_few(220, 11)
    (True, False)
    """
    return rows < FEW * parameters
