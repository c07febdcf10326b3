"""Machines and services told from people by the words of written openings alone, and by a beep after them: no sound is heard."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

from bench.answering.openings import KINDS, Told, openings, share, told
from bench.harness import Figure, at_most, plain

NOTES = """\
Ways to take a call, written in English, German, Spanish and French: 715 on which the lists of words were chosen, and 185
(English, German, French) that were kept back and measured once. Each is said word by word, one in 340 ms, and its words are
known at once. So a machine is told by its words and its length alone, where no beep is named. The openings kept back were
written before the lists were last changed, by the same hand; phrases that were remembered from them were left out of the lists.
85 of the tuning's people were written to break the lists, many in a machine's words. No native speaker has reviewed them, and
no machine was recorded.
"""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: half a minute."""
    return [figure for part in ("tuning", "held_out") for figure in opening_rows(part)]


def opening_rows(part: str) -> Iterator[Figure]:
    """Yields the shares of the written openings of a part, by their words alone, and of machines with their beeps."""
    name, written = f"{part.replace('_', ' ')}", openings(part)
    yield from shares(name, [told(one) for one in written])
    beeping = [told(one, beeps=True) for one in written if one.kind == "machine"]
    yield plain(f"{name}: machines told, with a beep", share(beeping, "machine", "machine"), "%")


def shares(name: str, all_told: Sequence[Told]) -> Iterator[Figure]:
    """Yields the share of each kind that was told, and of people who were not, by language."""
    codes = sorted({one.opening.language for one in all_told})
    for code in ("", *(codes if len(codes) > 1 else ())):
        of, mine = f", {code}" if code else "", [one for one in all_told if code in ("", one.opening.language)]
        for kind in KINDS:
            yield Figure(f"{name}: written as {kind}{of}", sum(one.opening.kind == kind for one in mine), "", "", True)
        yield plain(f"{name}: machines told{of}", share(mine, "machine", "machine"), "%")
        yield plain(f"{name}: services told{of}", share(mine, "screening", "screening"), "%")
        wrong = {"machines": share(mine, "person", "machine"), "services": share(mine, "person", "screening")}
        for what, percent in wrong.items():
            title = f"{name}: people taken for {what}{of}"
            yield plain(title, percent, "%") if code else at_most(title, percent, 1, "%")
