"""A client's connection to a model server. Requests have deadlines; what was not answered is sent again a bounded number of
times; a server that does not answer is left alone for a moment (`circuit.py`). Every failure is an EngineError of one line, with
what to do."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Sequence

from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.inference.address import MAX_MESSAGE_BYTES, ServerAddress, ServerOptions, address_of
from voiceagent.inference.circuit import OPEN_S, Circuit
from voiceagent.inference.wire import KIND, KINDS, OVERLOADED, SERVICE, InferRequest, InferResponse, ModelMetadata, message
from voiceagent.redaction import redacted

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its C library would write lines of its own beside ours
try:
    import grpc as grpc
    import grpc.aio
except ImportError as error:
    problem = "models as a service need the package grpcio, which is not here; run: pip install 'voiceagent[remote]'"
    raise ConfigError(problem) from error

UNREACHABLE, TOO_LATE = "unreachable", "too_late"
_OPTIONS: Sequence[tuple[str, int | str]] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A server that was started anew is asked again soon, and one whose machine has gone is noticed.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.enable_retries", 0),
    ("grpc.service_config", '{"loadBalancingConfig":[{"round_robin":{}}]}'),
)
Trailing = Sequence[tuple[str, str | bytes]]


class ModelConnection:
    """Requests to the models of one server. `what` is the engine in messages, such as "the recogniser"; `setting` names where its
    address is set."""

    def __init__(self, address: ServerAddress, options: ServerOptions, what: str, setting: str) -> None:
        self._address = address
        self._options = options
        self._what = what
        self._setting = setting
        self._circuit = Circuit()
        self._channel: grpc.aio.Channel | None = None
        self.sent_again = 0
        """The number of requests that were sent once more."""

    def describe(self, model: str) -> ModelMetadata:
        """Ask what the model takes and gives, and wait for a server that starts. Blocks: it is called where engines are loaded,
        off the event loop. Raises ModelError."""
        request = message("ModelMetadataRequest")(name=model).SerializeToString()
        address = self._address
        channel = (
            grpc.secure_channel(address.target, _credentials(address), options=_OPTIONS)
            if address.has_tls
            else grpc.insecure_channel(address.target, options=_OPTIONS)
        )
        with channel:
            ask: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICE}/ModelMetadata")
            timeout_s = max(self._options.timeout_s, self._options.start_timeout_s)
            try:
                answer = ask(
                    request,
                    timeout=timeout_s,
                    metadata=self._metadata,
                    wait_for_ready=self._options.start_timeout_s > 0,
                )
                return ModelMetadata.from_bytes(answer)
            except grpc.RpcError as error:
                code = error.code()
                late = code is grpc.StatusCode.DEADLINE_EXCEEDED  # it was waited for
                details = f"waited {timeout_s:g} s" if late else error.details() or ""
                failure = self._explained(grpc.StatusCode.UNAVAILABLE if late else code, details, ())
                raise ModelError(str(failure)) from error
            except ValueError as error:
                raise ModelError(str(self.unreadable(error))) from error

    async def infer(self, request: InferRequest, *, may_repeat: bool = True) -> InferResponse:
        """One answer to one request. Cancelling it cancels the request there. Raises EngineError."""
        data = request.to_bytes()
        for left in range(self._options.retries if may_repeat else 0, -1, -1):
            self._require_circuit()
            try:
                ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._open().unary_unary(f"/{SERVICE}/ModelInfer")
                answer = await ask(data, timeout=self._options.timeout_s, metadata=self._metadata)
                self._circuit.worked()
                return InferResponse.from_bytes(answer)
            except grpc.aio.AioRpcError as error:
                failure = self._failed(error)
                if not left or failure.kind != UNREACHABLE:
                    raise failure from error
                self.sent_again += 1
            except ValueError as error:
                raise self.unreadable(error) from error
        raise AssertionError("unreachable")

    async def stream(self, request: InferRequest) -> AsyncGenerator[InferResponse, None]:
        """The answers to one request, until the last. Closing the generator cancels the request there. It is sent again only
        before the first answer. Raises EngineError."""
        data = request.to_bytes()
        left = self._options.retries
        while True:
            self._require_circuit()
            has_begun = False
            ask: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._open().stream_stream(f"/{SERVICE}/ModelStreamInfer")
            call = ask(iter([data]), metadata=self._metadata)
            try:
                while (answer := await self._next(call)) is not None:
                    has_begun = True
                    if answer.tensors:
                        yield answer
                    if answer.is_last:
                        return
                raise self._broken_off()
            except grpc.aio.AioRpcError as error:
                failure = self._failed(error)
                if has_begun or not left or failure.kind != UNREACHABLE:
                    raise failure from error
                left -= 1
                self.sent_again += 1
            except ValueError as error:
                raise self.unreadable(error) from error
            finally:
                call.cancel()

    async def _next(self, call: grpc.aio.StreamStreamCall[bytes, bytes]) -> InferResponse | None:
        """The next answer; None: there is none. Raises EngineError, ValueError, AioRpcError."""
        try:
            async with asyncio.timeout(self._options.timeout_s):
                data = await call.read()
        except TimeoutError as error:
            self._circuit.failed(time.monotonic())
            raise self._too_late() from error
        if not isinstance(data, bytes):  # the end of the stream
            code = await call.code()
            if code is not grpc.StatusCode.OK:
                raise grpc.aio.AioRpcError(
                    code, await call.initial_metadata(), await call.trailing_metadata(), await call.details()
                )
            return None
        self._circuit.worked()
        answer, problem = InferResponse.from_streamed_bytes(data)
        if problem:
            raise EngineError(f"{self._address.url}: {_line(problem)}", _kind(answer.parameters.get(KIND)))
        return answer

    def unreadable(self, error: ValueError) -> EngineError:
        """The failure of an answer that is no such model's."""
        problem = f"{self._address.url}: the answer of {self._what} cannot be read: {_line(str(error))}"
        return EngineError(f"{problem}; is it a server for this kind of model?", "unreadable")

    async def close(self) -> None:
        """Close the connection."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    @property
    def _metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return (("authorization", f"Bearer {self._address.key}"),) if self._address.key else ()

    def _open(self) -> grpc.aio.Channel:
        """The channel, made inside the event loop that uses it."""
        if self._channel is None:
            address = self._address
            self._channel = (
                grpc.aio.secure_channel(address.target, _credentials(address), options=_OPTIONS)
                if address.has_tls
                else grpc.aio.insecure_channel(address.target, options=_OPTIONS)
            )
        return self._channel

    def _require_circuit(self) -> None:
        if not self._circuit.admits(time.monotonic()):
            raise EngineError(
                f"{self._address.url}: {self._what} does not answer; it is tried again every {OPEN_S:g} s", UNREACHABLE
            )

    def _failed(self, error: grpc.aio.AioRpcError) -> EngineError:
        failure = self._explained(error.code(), error.details() or "", tuple(error.trailing_metadata() or ()))
        if failure.kind in (UNREACHABLE, TOO_LATE):
            self._circuit.failed(time.monotonic())
        else:
            self._circuit.worked()
        return failure

    def _explained(self, code: grpc.StatusCode, details: str, trailing: Trailing) -> EngineError:
        where, what, line = self._address.url, self._what, _line(details)
        kind = _kind(next((value for name, value in trailing if name == KIND), None))
        match code:
            case grpc.StatusCode.UNAVAILABLE:
                advice = f"start it with `voiceagent models serve`, or change {self._setting}"
                return EngineError(f"{where}: {what} does not answer there ({line}); {advice}", UNREACHABLE)
            case grpc.StatusCode.DEADLINE_EXCEEDED:
                return self._too_late()
            case grpc.StatusCode.UNAUTHENTICATED | grpc.StatusCode.PERMISSION_DENIED:
                problem = f"{where}: the server refuses the key in ${self._address.key_env}; set it to a valid one"
                return EngineError(problem, "key_refused")
            case grpc.StatusCode.NOT_FOUND:
                return EngineError(f"{where}: {line}; name one that the server has by `model`", "no_such_model")
            case grpc.StatusCode.RESOURCE_EXHAUSTED:
                return EngineError(f"{where}: {what} is overloaded ({line}); lower the number of calls", OVERLOADED)
            case grpc.StatusCode.UNIMPLEMENTED:
                problem = f"{where}: the server refuses the request ({line}); is it a server of the Open Inference Protocol?"
                return EngineError(problem, "refused")
        return EngineError(f"{where}: {what} failed ({line})", kind)

    def _too_late(self) -> EngineError:
        problem = f"{self._address.url}: {self._what} sent nothing for {self._options.timeout_s:g} s; is the server overloaded?"
        return EngineError(problem, TOO_LATE)

    def _broken_off(self) -> EngineError:
        return EngineError(f"{self._address.url}: {self._what} ended its answer before the last part", "broken_off")


def connection_to(options: ServerOptions, engine: str, what: str, setting: str) -> ModelConnection:
    """The connection that an engine's options name; `engine` begins messages. Raises ConfigError."""
    return ModelConnection(address_of(options, engine), options, what, setting)


def _credentials(address: ServerAddress) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(root_certificates=address.ca)


def _line(text: str) -> str:
    return redacted(" ".join(text.split()))[:300]


def _kind(told: object) -> str:
    return told if isinstance(told, str) and told in KINDS else KINDS[0]
