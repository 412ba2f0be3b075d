"""Copies of a pretrained encoder that predict in bfloat16 or int8."""
