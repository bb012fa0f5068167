"""copriv: asynchronous, differentially private learning across organisations that may not pool their records."""

__version__ = "0.1.0"
