"""Where we are: view state, clock and navigation."""
