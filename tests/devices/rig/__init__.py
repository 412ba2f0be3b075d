"""A GPU that is not there: CuPy's arrays, torch's tensors, and the bridge between them.

Only in a process of its own, because Thinc decides on import whether CuPy exists:
`python -m pytest -p tests.devices.rig.plugin`. There, `require_gpu()` succeeds. Values
lie on the host, but what the two devices must not do together fails, and copies and
waits are counted. It shows nothing of real kernels, streams or memory.
"""
