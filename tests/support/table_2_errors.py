"""The errors of the simulated rows of TinyOps' Table 2, pinned."""

from __future__ import annotations

# Table 2, latency error in percent: rows that calibrate nothing, pinned as they are
UNTUNED = {
    ("proxyless-w0.40-r080-pad", "stm32f469i-disco"): -4.7,
    ("mbv3-w0.40-r096-pad", "stm32f469i-disco"): -9.4,
    ("mcunet-f469-pad", "stm32f469i-disco"): -7.2,
    ("mnasnet-w1.00-r080-pad", "stm32f469i-disco"): -12.5,
    ("mnasnet-w1.00-r096-pad", "stm32f469i-disco"): -11.7,
    ("proxyless-w0.85-r064-pad", "stm32f746g-disco"): -1.0,
    ("mcunet-f746-pad", "stm32f746g-disco"): 3.4,
    ("mnasnet-w1.00-r096-pad", "stm32f746g-disco"): -3.1,
    ("mnasnet-w1.00-r128-pad", "stm32f746g-disco"): -3.9,
}
