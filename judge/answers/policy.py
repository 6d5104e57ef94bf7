"""What counts as the same answer where people differ, and how much work one pair may cost."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Policy:
    """The knobs of the answer checker. The defaults are the strict reading that a headline number should rest on.

    Attributes:
        ordered_tuples: `True`: (1,2) and (2,1) differ, and a tuple against a bare list of the same entries is
            `undecided`. `False`: tuples, lists and sets are compared as unordered collections.
        decimal_approximations: `"exact"`: 0.33 is 33/100, hence not 1/3. `"rounded"`: a decimal with at least
            three significant digits also equals a value that rounds to it.
        units: `"strict"`: a unit on one side only is `undecided`. `"omitted"`: a missing unit is forgiven, two
            different ones are converted, or tell the answers apart. `"ignored"`: units are dropped.
        percent: `"value"`: 50% is 1/2, and against a bare 50 it is `undecided`. `"bare"`: it also equals 50.
        renamed_parameters: `"none"`: letters mean themselves, but for a function's own variable. `"bound"`:
            parameters that the answer introduces (`n=4k+3`, `f(x)=cx`) may have another name. `"any"`: so may
            every letter.
        seconds: wall-clock limit for the symbolic work on one pair.
        memory_mb: address-space limit of a worker process, in MiB.
    """

    ordered_tuples: bool = True
    decimal_approximations: Literal["exact", "rounded"] = "exact"
    units: Literal["strict", "omitted", "ignored"] = "omitted"
    percent: Literal["value", "bare"] = "value"
    renamed_parameters: Literal["none", "bound", "any"] = "bound"
    seconds: float = Field(default=5.0, gt=0, le=3600)
    memory_mb: int = Field(default=1024, ge=512)
