"""The options of custom operators, which converters write as flexbuffer maps.

Not modelled: nested values, and options in any other form; they are left out.
"""

from __future__ import annotations

from typing import Any

from flatbuffers import flexbuffers

LARGEST = 64 << 10
MOST = 256


def custom_options(data: bytes) -> dict[str, Any]:
    """Numbers, truth values and texts by name; empty for what is no map."""
    if not data or len(data) > LARGEST:
        return {}
    try:
        root: Any = flexbuffers.GetRoot(data)
        if not root.IsMap or len(root.AsMap) > MOST:
            return {}
        pairs = list(zip(root.AsMap.Keys, root.AsMap.Values, strict=True))
        plain = [(key, value) for key, value in pairs if value.IsNumeric or value.IsBool or value.IsString]
        return {str(key.Value): value.Value for key, value in plain}
    except Exception:  # the reader of flexbuffers trusts what it is given
        return {}
