"""What a run may use: requests, tokens, minutes, cost. One `Spending` counts them for all engines of a run."""

import threading
import time
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from generate.stage import Count, EngineGone, Number, settings

Positive = Annotated[Number, Field(gt=0)]
Price = Annotated[Number, Field(ge=0)]


FIRST_CALLS = 8
"""With a budget of tokens or cost, the calls that are under way before one has been answered."""


@settings
class Budget:
    """`budget` in conf/generate.yaml and conf/judge.yaml. Null: no limit. It holds for one run; the next begins anew."""

    requests: Count | None = None
    tokens: Count | None = None
    minutes: Positive | None = None
    cost: Positive | None = None
    prompt_price: Price | None = None
    completion_price: Price | None = None

    def __post_init__(self) -> None:
        if self.cost is not None and self.prompt_price is None and self.completion_price is None:
            raise ValueError("cost wants prompt_price and completion_price, for a million tokens each")


class BudgetSpent(EngineGone):
    """The run has used what it may. Calls that were under way are finished and kept; nothing else is begun."""


@dataclass
class Spending:
    """What a run has used so far, held against its budget.

    Before a call `begin()` raises BudgetSpent where the budget is used up, or would be by the calls under way if they
    take as many tokens as those before them did on average. So a run ends close to its budget, and may pass it by what
    the calls that were under way took more than that.
    """

    budget: Budget = field(default_factory=Budget)
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    answered: int = 0
    under_way: int = 0
    refused: bool = False
    """Whether the budget has ended the work: a call was refused."""
    began: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost(self) -> float:
        """In the currency of the prices."""
        prices = self.budget.prompt_price or 0.0, self.budget.completion_price or 0.0
        return (self.prompt_tokens * prices[0] + self.completion_tokens * prices[1]) / 1e6

    def spent(self) -> str | None:
        """Which part of the budget is used up; null where none is."""
        budget, share = self.budget, 1 + self.under_way / self.answered if self.answered else 1
        if budget.requests is not None and self.requests >= budget.requests:
            return f"requests: {budget.requests}"
        if budget.tokens is not None and self.tokens * share >= budget.tokens:
            return f"tokens: {budget.tokens}"
        if budget.cost is not None and self.cost * share >= budget.cost:
            return f"cost: {budget.cost:g}"
        if budget.minutes is not None and time.monotonic() - self.began >= budget.minutes * 60:
            return f"minutes: {budget.minutes:g}"
        return None

    def request(self, begins_call: bool = False) -> None:
        """Count one more request. Raises BudgetSpent where no more may be made."""
        with self._lock:
            if spent := self.spent():
                self.refused = True
                raise BudgetSpent(f"the budget of this run is spent ({spent}).")
            self.requests += 1
            self.under_way += begins_call

    def unknown(self) -> bool:
        """Whether a call should wait until one has been answered: how much a call takes is not known, and the budget is
        of that."""
        priced = self.budget.tokens is not None or self.budget.cost is not None
        return priced and not self.answered and self.under_way >= FIRST_CALLS

    def begin(self) -> None:
        """A call begins, with its first request."""
        self.request(begins_call=True)

    def end(self, prompt_tokens: int | None = None, completion_tokens: int | None = None) -> None:
        """A call has ended, with a reply or without."""
        with self._lock:
            self.under_way -= 1
            self.answered += 1
            self.prompt_tokens += max(0, prompt_tokens or 0)
            self.completion_tokens += max(0, completion_tokens or 0)

    def about(self) -> dict[str, Any]:
        """For the manifest."""
        said = {
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }
        priced = self.budget.prompt_price is not None or self.budget.completion_price is not None
        return said | ({"cost": round(self.cost, 6)} if priced else {})
