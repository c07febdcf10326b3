"""Fits `voiceagent/audio/wordlike.txt`, which tells words from coughs, laughs and hums. `make_wordlike.sh` runs it."""
