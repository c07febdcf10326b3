"""Draws the fixed list that `python -m bench bundled` measures speech models on: sentences whose slot values no training has
seen together (`domain.is_held_out`), espeak-ng voices to speak them in, and seeds of sounds that are not speech. The list is
committed; it is drawn anew only when the domain changes.

    python -m models.train.stt_held_out --out bench/bundled/held_out/speech.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from models.train import domain
from models.train.not_speech import KINDS
from models.train.stt_speak import HELD_OUT_VARIANTS, spoken_words, trained_variants

SENTENCES, VOICES, TELEPHONE, BUNDLED_VOICE, EACH_KIND = 200, 150, 150, 100, 20
_TRAINED_ACCENTS = ["en-us", "en-us", "en-us", "en", "en-us-nyc", "en-gb-scotland", "en-029"]
_OTHER_ACCENTS = ["en-us", "en-us", "en-gb-x-rp"]


def _sentence(rng: random.Random) -> dict[str, object]:
    while True:
        utterance = domain.held_out_utterance(rng)
        spoken = spoken_words(utterance.units)[0]
        if len(spoken) < 110:
            return {"text": utterance.written, "spoken": spoken}


def _spoken(rng: random.Random, name: str, accents: list[str], variants: list[str]) -> dict[str, object]:
    return {
        "set": name,
        **_sentence(rng),
        "voice": f"{rng.choice(accents)}+{rng.choice(variants)}",
        "words_per_minute": int(rng.triangular(130, 230, 170)),
        "pitch": rng.randint(30, 70),
        "pitch_range": rng.randint(30, 70),
    }


def draw(seed: int) -> list[dict[str, object]]:
    """All entries of the list."""
    rng = random.Random(seed)
    trained, others = trained_variants(), list(HELD_OUT_VARIANTS)
    entries = [_spoken(rng, "sentences", _TRAINED_ACCENTS, trained) for _ in range(SENTENCES)]
    entries += [_spoken(rng, "voices", _OTHER_ACCENTS, others) for _ in range(VOICES)]
    entries += [_spoken(rng, "telephone", _TRAINED_ACCENTS, trained) for _ in range(TELEPHONE)]
    entries += [{"set": "bundled_voice", **_sentence(rng)} for _ in range(BUNDLED_VOICE)]
    for kind in KINDS:
        for seed_of_clip in range(EACH_KIND):
            entries.append(
                {
                    "set": "not_speech",
                    "kind": kind,
                    "seed": seed_of_clip,
                    "seconds": round(rng.uniform(0.5, 4.0), 2),
                    "level_db": round(rng.uniform(-65, -10), 1),
                }
            )
    return entries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    entries = draw(options.seed)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    print(f"{options.out}: {len(entries)} entries")


if __name__ == "__main__":
    main()
