"""`python -m judge.answers GOLD REPLY`: try a pair."""

from __future__ import annotations

import argparse
import sys

from . import compare


def main(arguments: list[str] | None = None) -> int:
    """Prints outcome, method, reason, and what was extracted."""
    parser = argparse.ArgumentParser(
        prog="python -m judge.answers",
        description="Hold a reply's final answer against a gold answer: outcome, method, reason, and what was extracted.",
        epilog="A value that starts with a minus sign goes behind a --, as in: python -m judge.answers -- -3 '\\boxed{-3}'",
    )
    parser.add_argument("gold", metavar="GOLD", help="the gold answer")
    parser.add_argument(
        "reply", metavar="REPLY", help="a whole reply, its end, or an answer alone; - reads it from stdin"
    )
    options = parser.parse_args(arguments)
    reply = sys.stdin.read() if options.reply == "-" else options.reply
    found = compare(options.gold, reply)
    print(f"outcome:   {found.outcome}")
    print(f"method:    {found.method}")
    print(f"reason:    {found.reason}")
    if found.extraction.text is None:
        print(f"extracted: nothing ({found.extraction.why})")
    else:
        taken = found.extraction
        print(f"extracted: {taken.text} ({taken.how}, characters {taken.start} to {taken.end})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
