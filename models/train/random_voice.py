"""Writes a Piper voice of the published `medium` shape with random weights, by piper-tts's own model and with its exporter's
settings: it makes noise, in the time that a published voice takes to speak.

    python -m models.train.random_voice --out FOLDER [--speakers 4]
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import torch
from piper.phoneme_ids import DEFAULT_PHONEME_ID_MAP
from piper.train.vits.models import SynthesizerTrn
from torch import Tensor

SYMBOLS = 256
SAMPLE_RATE_HZ = 22_050
HOP_SAMPLES = 256
OPSET = 15
LENGTH_SCALE = 2.0
"""Makes random weights speak as long as trained ones: two frames a phoneme id."""


def medium(speakers: int) -> SynthesizerTrn:
    """The model; the figures are the defaults of `piper.train.vits.lightning.VitsModel`."""
    model: SynthesizerTrn = SynthesizerTrn(
        n_vocab=SYMBOLS,
        spec_channels=513,
        segment_size=32,
        inter_channels=192,
        hidden_channels=192,
        filter_channels=768,
        n_heads=2,
        n_layers=6,
        kernel_size=3,
        p_dropout=0.1,
        resblock="2",
        resblock_kernel_sizes=(3, 5, 7),
        resblock_dilation_sizes=((1, 2), (2, 6), (3, 12)),
        upsample_rates=(8, 8, 4),
        upsample_initial_channel=256,
        upsample_kernel_sizes=(16, 16, 8),
        n_speakers=speakers,
        gin_channels=512 if speakers > 1 else 0,
        use_sdp=True,
    ).eval()
    with torch.no_grad():
        for name, weight in model.flow.named_parameters():
            if ".post." in name:  # zero before training: the flow would do nothing
                weight.normal_(0.0, 0.02)
        model.dec.remove_weight_norm()  # type: ignore[no-untyped-call]  # piper-tts leaves it without types
    return model


class Spoken(torch.nn.Module):
    """The inputs and the output of a Piper voice."""

    def __init__(self, model: SynthesizerTrn) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, lengths: Tensor, scales: Tensor, speaker: Tensor | None = None) -> Tensor:
        """Ids (1, L), lengths (1,), scales (noise, length, noise_w), speaker (1,) → audio (1, 1, 1, N)."""
        audio: Tensor = self.model.infer(  # type: ignore[no-untyped-call]  # piper-tts leaves it without types
            ids, lengths, noise_scale=scales[0], length_scale=scales[1], noise_scale_w=scales[2], sid=speaker
        )[0]
        return audio.unsqueeze(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the voice")
    parser.add_argument("--speakers", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(1)
    speakers: int = options.speakers
    inputs = ["input", "input_lengths", "scales", *(["sid"] if speakers > 1 else [])]
    example = [torch.randint(0, SYMBOLS, (1, 50)), torch.tensor([50]), torch.tensor([0.667, 1.0, 0.8]), torch.tensor([0])]
    options.out.mkdir(parents=True, exist_ok=True)
    path: Path = options.out / "voice.onnx"
    partial = path.with_suffix(".partial")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Spoken(medium(speakers)),
            tuple(example[: len(inputs)]),
            str(partial),
            input_names=inputs,
            output_names=["output"],
            dynamic_axes={"input": {0: "batch", 1: "ids"}, "input_lengths": {0: "batch"}, "output": {0: "batch", 3: "time"}},
            opset_version=OPSET,
            dynamo=False,
        )
    config = {
        "audio": {"sample_rate": SAMPLE_RATE_HZ, "quality": "medium"},
        "espeak": {"voice": "en-us"},
        "phoneme_type": "espeak",
        "num_symbols": SYMBOLS,
        "num_speakers": speakers,
        "speaker_id_map": {},
        "hop_length": HOP_SAMPLES,
        "inference": {"noise_scale": 0.667, "length_scale": LENGTH_SCALE, "noise_w": 0.8},
        "phoneme_id_map": DEFAULT_PHONEME_ID_MAP,
    }
    path.with_suffix(".onnx.json").write_text(json.dumps(config, ensure_ascii=False, indent=1) + "\n")
    partial.rename(path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
