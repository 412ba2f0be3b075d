"""Serve a pipeline over HTTP, also to Label Studio."""
