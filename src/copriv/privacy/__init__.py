"""What a promise is and what it costs: guarantees, sensitivities, mechanisms, calibrations, releases. Pure."""
