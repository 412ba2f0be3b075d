"""Before training: configs to start from, and checks of the data."""
