from tests.conftest import make_service, switchboard
from tests.fakes import MakeService, SilentLeg, Switchboard

__all__ = ["MakeService", "SilentLeg", "Switchboard", "make_service", "switchboard"]
