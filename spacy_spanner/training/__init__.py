"""The optimizer and the callbacks for `[training]` of a config."""
