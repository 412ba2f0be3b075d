"""The server, over real HTTP on this machine."""
