"""Names that a page must show as text."""

from __future__ import annotations

HOSTILE = [
    "</script><script>alert(1)//",
    '"><img src=x onerror=alert(1)>',
    "<a href='https://example.org'>here</a>",
    "%{meta[0]}%{x}<extra>",
    "n" * 10_000,
    "tab\tnull\x00bell\x07line\nend\u2028\u202eright to left",
    "\u05d0\u05d1\u05d2 \ud800 &lt;b&gt; &#60;i&#62;",
    "",
]
