"""What of a caller's audio the call gets."""

from __future__ import annotations

import numpy as np
import pytest

from tests.speech import frames, said, tone
from voiceagent.media.inbound_frames import InboundFrames


@pytest.mark.parametrize("is_telephone", [True, False])
async def test_the_tones_of_a_key_are_silence_to_a_telephone_call_alone(is_telephone: bool) -> None:
    speech, key = frames(said("Two."))[:10], frames(tone(200, 770) + tone(200, 1336))
    inbound = InboundFrames(is_telephone=is_telephone)
    for at_ms, frame in enumerate([*speech, *key]):
        inbound.put(frame, float(at_ms), concealed=False)
    inbound.end()
    heard = [frame async for frame in inbound.read()]
    assert [frame.received_ms for frame in heard] == [float(at_ms) for at_ms in range(20)]
    assert np.array_equal(np.concatenate([frame.pcm for frame in heard[:10]]), np.concatenate(speech))
    assert any(frame.pcm.any() for frame in heard[10:]) != is_telephone
