"""One search over rules, mechanisms and settings, for forecast, plan, verdict and train alike."""
