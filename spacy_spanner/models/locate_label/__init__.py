"""Two-stage span identification: locate and label (Shen et al., ACL 2021)."""
