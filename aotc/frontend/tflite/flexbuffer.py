"""Options of custom operators: a flexbuffer, which is a map of names to numbers (google.github.io/flatbuffers,
FlexBuffers).

A map is values, the type of each behind them, and before them where its keys are. Every place is compared with the
length of the data before it is read, and a map is read once, so that nothing in damaged options leads outside or on
and on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

Number = int | float | bool

_MAP, _BOOL = 9, 26
_INLINE = {1: "bhiq", 2: "BHIQ", 3: "xefd", _BOOL: "BHIQ"}
"""Types whose values lie in the map -> their formats of 1, 2, 4 and 8 bytes, x for none."""
_BEHIND = {6: 1, 7: 2, 8: 3}
"""Types whose values lie elsewhere -> those that these are of."""


def read_options(data: bytes) -> dict[str, Number]:
    """The numbers of a map by name, what is no number left out; raises ValueError where the data are no map."""
    if not data:
        return {}
    try:
        return dict(_Reader(data).options())
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"they lead out of their {len(data)} bytes ({error})") from error


@dataclass(frozen=True)
class _Reader:
    data: bytes

    def number(self, place: int, kind: int, width: int) -> Number:
        """A number of a type, of 1 << `width` bytes."""
        if place < 0:
            raise ValueError("an offset in them leads out of them")
        value: Number = struct.unpack_from("<" + _INLINE[kind][width], self.data, place)[0]
        return bool(value) if kind == _BOOL else value

    def size(self, place: int, width: int) -> int:
        """A length or an offset."""
        return int(self.number(place, 2, width))

    def target(self, place: int, width: int) -> int:
        """Where the offset at a place leads: back, to what lies before it."""
        return place - self.size(place, width)

    def options(self) -> Iterator[tuple[str, Number]]:
        """Names and numbers of the map."""
        root = self.data[-1].bit_length() - 1
        kind, width = self.data[-2] >> 2, self.data[-2] & 3
        if kind != _MAP or self.data[-1] not in (1, 2, 4, 8):
            raise ValueError("they are no map")
        first = self.target(len(self.data) - 2 - (1 << root), root)
        count = self.size(first - (1 << width), width)
        if count > len(self.data):
            raise ValueError(f"they have {count} entries in {len(self.data)} bytes")
        keys = self.target(first - (3 << width), width)
        keys_width = self.size(first - (2 << width), width).bit_length() - 1
        if not 0 <= keys_width <= 3:
            raise ValueError("their names have offsets of no width")
        for entry in range(count):
            start = self.target(keys + (entry << keys_width), keys_width)
            packed = self.data[first + (count << width) + entry]
            place, kind, own = first + (entry << width), packed >> 2, width
            if kind in _BEHIND:
                place, kind, own = self.target(place, width), _BEHIND[kind], packed & 3
            if kind in _INLINE:
                if start < 0:
                    raise ValueError("an offset in them leads out of them")
                name = self.data[start : self.data.index(0, start)].decode()
                yield name, self.number(place, kind, own)
