"""The boundary offset prediction network (Tang et al., Findings of EMNLP 2023)."""
