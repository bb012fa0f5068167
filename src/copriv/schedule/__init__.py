"""Who is reachable when: Poisson clocks, and recorded traces to replay. Pure."""
