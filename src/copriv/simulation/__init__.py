"""Monte Carlo: many runs of a rule at once, from sufficient statistics or from records, with seeded noise."""
