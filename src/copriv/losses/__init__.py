"""Losses of linear models: their values, slopes and bounds, passes over records, and exact minimisers. Pure."""
