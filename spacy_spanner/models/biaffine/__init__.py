"""Biaffine span classification with boundary smoothing (Zhu and Li, ACL 2022)."""
