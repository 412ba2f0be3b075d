"""Before training: starter configs and checks of the data."""
