"""Fits the network of `voiceagent/audio/wordlike.py`, and says what it is worth on groups that it has not heard.
`python -m models.train.wordlike.fit FOLDER`; FOLDER has the unpacked packages, one below another."""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.train.wordlike.hear import Heard, heard
from models.train.wordlike.material import clips
from voiceagent.audio.wordlike import LIMIT
from voiceagent.turn_taking.overlap import UNLIKE_WORDS

OUT = Path("voiceagent/audio/wordlike.txt")
HIDDEN, DECAY, EPOCHS, BATCH, RATE, JITTER = 16, 2e-3, 25, 512, 3e-3, 0.1
HELD_OUT = {
    "scratch", "hw-British", "hw-HillBilly", "hw-Singer", "hw-Surfer", "oa-liz", "oa-sarge", "oa-merman", "oa-grism",
    "wesnoth-human-old",
}  # fmt: skip
"""And every fourth speaker of words."""
SHARES = {"cough": 3.0, "laugh": 3.0, "grunt": 1.5, "hum": 1.5, "noise": 1.0}
"""Of what is no words. The rarest kinds are those that callers make."""
WORD_SHARES = {"u-": 4.0, "t-": 1.0, "hw": 1.5, "kt": 1.0, "tp": 1.0}
"""Of words, by where they are from. Callers speak most like the first."""
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Network:
    """One hidden layer."""

    mean: Matrix
    spread: Matrix
    parts: tuple[Matrix, Matrix, Matrix, Matrix]

    def chances(self, figures: Matrix) -> Matrix:
        """Of words, for figures of shape (sounds, figures)."""
        layer, layer_bias, out, out_bias = self.parts
        known = np.clip((figures - self.mean) / self.spread, -LIMIT, LIMIT)
        chances: Matrix = 1 / (1 + np.exp(-(np.tanh(known @ layer + layer_bias) @ out + out_bias[0])))
        return chances

    def text(self) -> str:
        """As `wordlike` reads it."""
        numbers = np.concatenate([part.reshape(-1) for part in (self.mean, self.spread, *self.parts)])
        written = [str(part) for part in self.parts[0].shape] + [f"{number:.4g}" for number in numbers]
        return "\n".join(" ".join(written[at : at + 16]) for at in range(0, len(written), 16)) + "\n"


def is_held_out(group: str) -> bool:
    """Whether the fit does not hear this speaker or package."""
    of_words = group.startswith(("u-", "t-", "tp-", "kt-"))
    return group in HELD_OUT or (of_words and zlib.crc32(group.encode()) % 4 == 0)


def importance(sounds: Sequence[Heard]) -> Matrix:
    """How much each counts: words as much as the rest, kinds by their shares, groups by the root of their sizes."""
    counts = np.zeros(len(sounds))
    kinds, groups = np.array([each.kind for each in sounds]), np.array([each.group for each in sounds])
    for prefix, share in WORD_SHARES.items():
        of_prefix = (kinds == "words") & np.char.startswith(groups, prefix)
        counts[of_prefix] = share / max(1, of_prefix.sum())
    for kind, share in SHARES.items():
        of_kind = kinds == kind
        if of_kind.any():
            _, index, sizes = np.unique(groups[of_kind], return_inverse=True, return_counts=True)
            weights = 1 / np.sqrt(sizes[index])
            counts[of_kind] = weights * share / weights.sum()
    for is_words in (kinds == "words", kinds != "words"):
        counts[is_words] /= counts[is_words].sum()
    return counts * len(sounds)


def fit(sounds: Sequence[Heard], seed: int = 0) -> Network:
    """By Adam, with decaying weights and jittered figures."""
    rng = np.random.default_rng(seed)
    figures = np.stack([each.figures for each in sounds]).astype(np.float64)
    wanted, counts = np.array([float(each.kind == "words") for each in sounds]), importance(sounds)
    mean, spread = figures.mean(0), figures.std(0) + 1e-6
    known, order = np.clip((figures - mean) / spread, -LIMIT, LIMIT), np.arange(len(sounds))
    width = figures.shape[1]
    layer = rng.standard_normal((width, HIDDEN)) * np.sqrt(1 / width)
    parts = [layer, np.zeros(HIDDEN), rng.standard_normal(HIDDEN) * 0.3, np.zeros(1)]
    first, second, step = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts], 0
    for _ in range(EPOCHS):
        rng.shuffle(order)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            shown = known[batch] + rng.standard_normal((len(batch), width)) * JITTER
            step += 1
            for at, slope in enumerate(_slopes(parts, shown, wanted[batch], counts[batch])):
                first[at] = 0.9 * first[at] + 0.1 * slope
                second[at] = 0.999 * second[at] + 0.001 * slope**2
                scale = np.sqrt(second[at] / (1 - 0.999**step)) + 1e-8
                parts[at] = parts[at] - RATE * (first[at] / (1 - 0.9**step)) / scale
    return Network(mean, spread, (parts[0], parts[1], parts[2], parts[3]))


def _slopes(parts: Sequence[Matrix], shown: Matrix, wanted: Matrix, counts: Matrix) -> tuple[Matrix, ...]:
    layer, layer_bias, out, out_bias = parts
    hidden = np.tanh(shown @ layer + layer_bias)
    wrong = (1 / (1 + np.exp(-(hidden @ out + out_bias[0]))) - wanted) * counts / len(wanted)
    behind = np.outer(wrong, out) * (1 - hidden**2)
    return shown.T @ behind + DECAY * layer, behind.sum(0), hidden.T @ wrong + DECAY * out, np.array([wrong.sum()])


def report(network: Network, sounds: Sequence[Heard]) -> None:
    """Print how many sounds of each kind count as unlike words, at each length."""
    chances = network.chances(np.stack([each.figures for each in sounds]))
    for length in sorted({each.length_ms for each in sounds}):
        line = [f"{length:5d} ms"]
        for kind in sorted({each.kind for each in sounds}):
            of_kind = [
                chance for each, chance in zip(sounds, chances, strict=True) if (each.kind, each.length_ms) == (kind, length)
            ]
            if of_kind:
                line.append(f"{kind} {100 * np.mean(np.array(of_kind) < UNLIKE_WORDS):.0f} % of {len(of_kind)}")
        print(", ".join(line))


def main() -> None:
    """Fit, write, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    sounds = list(heard(clips(options.folder)))
    network = fit([each for each in sounds if not is_held_out(each.group)])
    options.out.write_text(network.text(), encoding="ascii")
    print("unlike words, of sounds that were held out:")
    report(network, [each for each in sounds if is_held_out(each.group)])


if __name__ == "__main__":
    main()
