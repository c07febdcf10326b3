"""The cluster on Ray: the connection to it, and the two kinds of actors, by their names. The controller is one actor, each
worker is one. Both are detached: they stay when the program that had them started ends, and Ray starts each again that dies.
Ray has no key of its own by default, and who reaches its ports can run any program; so it is used on loopback, or with its
tokens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from voiceagent.addresses import is_loopback
from voiceagent.cluster.autoscale import ScaleSettings
from voiceagent.cluster.call_worker import CallWorker, WorkerOptions
from voiceagent.cluster.controller import Controller, Worker, WorkerGoneError, WorkerOrder, WorkerReport, WorkerState
from voiceagent.cluster.gateway import Tell
from voiceagent.cluster.ray_package import MODE_VARIABLE, OwnRay, RayObject, ray_module, use_token
from voiceagent.errors import ConfigError, VoiceAgentError
from voiceagent.gateway.messages import WorkerStatus
from voiceagent.gateway.supervisor import STOP_S
from voiceagent.task_owner import TaskOwner

log = logging.getLogger(__name__)

T = TypeVar("T")
NAMESPACE = "voiceagent"
CONTROLLER = "controller"
REGION_LABEL = "ray.io/region"
"""Ray's own label for it: `ray start --labels=ray.io/region=eu`."""
LOOPBACK = "127.0.0.1"
LOOPBACK_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Unless it is 0, Ray on Linux takes the machine's own address in place of loopback."""
TELL_WITHIN_S = 2.0
OBJECT_STORE_BYTES = 80_000_000
"""The least that Ray takes. No call puts anything there."""
_WORKER = re.compile(r"worker (\d+) of (\d+)/(\d+) in (.*)", re.DOTALL)


def name_of(order: WorkerOrder) -> str:
    """The name of a worker's actor, from which a new controller reads what the worker is."""
    return f"worker {order.number} of {order.slot}/{order.slots} in {order.region}"


def order_of(name: str) -> WorkerOrder | None:
    """The order that the name of an actor says; None for an actor that is no worker."""
    found = _WORKER.fullmatch(name)
    return WorkerOrder(int(found[1]), found[4], int(found[2]), int(found[3])) if found else None


@dataclass(frozen=True, slots=True)
class WorkerNeeds:
    """The processors that each worker asks Ray for."""

    cpus: float = 1.0
    gpus: float = 0.0
    """A worker without any sees none."""


class RayWorker:
    """A worker's actor, as the controller reaches it."""

    def __init__(self, actor: RayObject) -> None:
        self._actor = actor

    async def report(self) -> WorkerReport:
        """An account of the worker's process. Raises WorkerGoneError where Ray does not start it again, RayError."""
        died = ray_module().exceptions.ActorDiedError
        try:
            report: WorkerReport = await self._actor.report.remote()
        except died as error:
            raise WorkerGoneError(str(error).partition("\n")[0]) from error
        return report

    async def drain(self) -> None:
        """Have it drain. Raises RayError."""
        await self._actor.drain.remote()

    async def end(self) -> None:
        """End its process, then itself; Ray does not start it again."""
        ray = ray_module()
        with contextlib.suppress(ray.exceptions.RayError, TimeoutError):
            await asyncio.wait_for(self._actor.stop.remote(), 2 * STOP_S)
        ray.kill(self._actor, no_restart=True)


class RayPlaces:
    """Starts workers as actors wherever Ray has a place for them."""

    def __init__(self, options: WorkerOptions, needs: WorkerNeeds) -> None:
        self._options = options
        self._needs = needs

    def start(self, order: WorkerOrder) -> Worker:
        """Have Ray start a worker. It waits for a machine with the region's label and room for it."""
        needs: dict[str, RayObject] = {"num_cpus": self._needs.cpus, "num_gpus": self._needs.gpus}
        if order.region:
            needs["label_selector"] = {REGION_LABEL: order.region}
        remote = ray_module().remote(CallWorker).options(name=name_of(order), lifetime="detached", max_restarts=-1, **needs)
        return RayWorker(remote.remote(order, self._options))

    def running(self) -> Mapping[int, tuple[WorkerOrder, Worker]]:
        """The workers that Ray has."""
        ray = ray_module()
        orders = [order for name in ray.util.list_named_actors() if (order := order_of(name)) is not None]
        return {order.number: (order, RayWorker(ray.get_actor(name_of(order)))) for order in orders}


class ControllerActor:
    """The controller as an actor. Its first question starts its work."""

    def __init__(self, options: WorkerOptions, needs: WorkerNeeds, settings: ScaleSettings, regions: tuple[str, ...]) -> None:
        self._controller = Controller(RayPlaces(options, needs), settings, regions)
        self._links = options.links
        self._tasks = TaskOwner()
        self._running: asyncio.Task[None] | None = None

    async def told(self, statuses: Mapping[int, WorkerStatus]) -> bool:
        """A gateway tells what it hears from its workers. Returns whether the cluster has ended."""
        self._controller.told(statuses)
        await self.states()
        return self._controller.is_over

    async def states(self) -> list[WorkerState]:
        """The workers, by number. Raises what the controller's work raised."""
        if self._running is None:
            self._running = self._tasks.start(self._controller.run(), "controller")
        if self._running.done():
            self._running.result()
        return self._controller.states()

    async def links(self) -> tuple[str, ...]:
        """The addresses at which workers find gateways, `HOST:PORT` each."""
        return self._links

    async def reasons(self) -> dict[str, str]:
        """The last change of each region, in words."""
        return self._controller.reasons()

    async def drain(self, number: int) -> None:
        """Have a worker drain. Raises UnknownNameError."""
        await self._controller.drain(number)

    async def end(self) -> None:
        """End all workers."""
        await self._controller.end()


def controller_started(
    options: WorkerOptions, needs: WorkerNeeds, settings: ScaleSettings, regions: tuple[str, ...]
) -> RayObject:
    """The controller's actor: the one that is there, which keeps its settings, or a new one."""
    remote = ray_module().remote(ControllerActor)
    remote = remote.options(
        name=CONTROLLER, lifetime="detached", num_cpus=0, max_restarts=-1, max_task_retries=-1, get_if_exists=True
    )
    return remote.remote(options, needs, settings, regions)


def controller_found() -> RayObject:
    """The controller's actor. Raises ConfigError where there is none."""
    try:
        return ray_module().get_actor(CONTROLLER)
    except ValueError as error:
        raise ConfigError("no cluster of voiceagent runs on this Ray; `voiceagent cluster up` starts one") from error


async def answered(asked: Awaitable[T]) -> T:
    """Wait for an actor's answer. An error of ours is raised as it was there, without Ray's account of it. Raises ConfigError
    where the actor is gone."""
    errors = ray_module().exceptions
    try:
        return await asked
    except VoiceAgentError as error:
        raise getattr(error, "cause", error) from None
    except errors.RayActorError as error:
        raise ConfigError(f"the controller is gone: {str(error).partition(chr(10))[0]}") from error


def told_to(controller: RayObject) -> Tell:
    """A function that tells the controller how workers stand. It returns True once the cluster has ended."""
    errors = ray_module().exceptions

    async def tell(statuses: Mapping[int, WorkerStatus]) -> bool:
        try:
            is_over: bool = await asyncio.wait_for(controller.told.remote(statuses), TELL_WITHIN_S)
        except errors.ActorDiedError:
            return True
        except (errors.RayError, TimeoutError) as error:
            log.warning("the controller does not answer: %s", str(error) or "it is too slow")
            return False
        return is_over

    return tell


async def ended(controller: RayObject) -> None:
    """End the workers, then the controller."""
    ray = ray_module()
    await answered(controller.end.remote())
    with contextlib.suppress(ray.exceptions.RayError):  # a Ray of `up` ends by itself
        ray.kill(controller, no_restart=True)


def this_machine() -> str:
    """The address by which Ray knows this machine."""
    return str(ray_module().util.get_node_ip_address())


@contextmanager
def local_ray(cpus: float, gpus: float, region: str, data: Path) -> Iterator[None]:
    """A Ray of this machine alone, on loopback and with a token of its own, which ends with the context. Its label is `region`.
    The file in the folder `data` tells how to reach it."""
    os.environ[LOOPBACK_VARIABLE] = "0"
    token = use_token()
    ray = ray_module()
    context = ray.init(
        address="local",  # else Ray takes another one of this machine, if one runs or has left its file
        num_cpus=cpus,
        num_gpus=gpus,
        labels={REGION_LABEL: region} if region else None,
        namespace=NAMESPACE,
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        log_to_driver=True,
        configure_logging=False,
        _node_ip_address=LOOPBACK,
    )
    try:
        with OwnRay(str(context.address_info["gcs_address"]), token).kept(data):
            yield
    finally:
        ray.shutdown()


@contextmanager
def ray_at(address: str, data: Path, *, shows_log: bool = False) -> Iterator[None]:
    """The Ray at this address, `auto` for the one of which this machine is a part; empty for the one that the folder `data`
    tells of, else `auto`. Raises ConfigError where there is none, or where it can be reached from elsewhere and asks for no
    token. `shows_log`: what the workers log is written to standard error here, too."""
    if not address and (own := OwnRay.read(data)) is not None:
        address = own.address
        use_token(own.token)
        os.environ[LOOPBACK_VARIABLE] = "0"
    address = address or "auto"
    ray = ray_module()
    try:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=shows_log, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        told = " ".join(str(error).split())
        raise ConfigError(f"no Ray was found at {address}: {told}") from error
    try:
        check_token(ray.get_runtime_context().gcs_address)
        yield
    finally:
        ray.shutdown()


def check_token(address: str, environment: Mapping[str, str] = os.environ) -> None:
    """Raises ConfigError for a Ray beyond loopback that asks nobody for a token."""
    if not is_loopback(address.rpartition(":")[0]) and environment.get(MODE_VARIABLE) != "token":
        raise ConfigError(
            f"Ray at {address} can be reached from other machines, and asks for no token: who reaches it can run any program; "
            "start it with RAY_AUTH_MODE=token, and set that here too"
        )
