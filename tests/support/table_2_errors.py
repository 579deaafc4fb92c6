"""The errors of the simulated rows of TinyOps' Table 2, pinned."""

from __future__ import annotations

# Table 2, latency error in percent: rows that calibrate nothing, pinned as they are
UNTUNED = {
    ("proxyless-w0.40-r080-pad", "stm32f469i-disco"): -2.4,
    ("mbv3-w0.40-r096-pad", "stm32f469i-disco"): -6.0,
    ("mcunet-f469-pad", "stm32f469i-disco"): -5.8,
    ("mnasnet-w1.00-r080-pad", "stm32f469i-disco"): -12.6,
    ("mnasnet-w1.00-r096-pad", "stm32f469i-disco"): -11.6,
    ("proxyless-w0.85-r064-pad", "stm32f746g-disco"): 6.0,
    ("mcunet-f746-pad", "stm32f746g-disco"): 7.2,
    ("mnasnet-w1.00-r096-pad", "stm32f746g-disco"): 2.3,
    ("mnasnet-w1.00-r128-pad", "stm32f746g-disco"): 0.6,
}
