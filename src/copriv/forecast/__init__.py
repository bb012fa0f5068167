"""What training will cost, before an answer is given: exact moments, bounds, and forecasts from public rows alone."""
