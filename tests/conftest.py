"""For all tests: they answer calls with the bundled models, whatever other models this machine has."""

import os

from voiceagent.models.choice import PROFILE_VARIABLE

os.environ.setdefault(PROFILE_VARIABLE, "embedded")
