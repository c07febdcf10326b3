"""The service `GRPCInferenceService` over hosted models: who may ask, which model is meant, and how a failure is told. Bytes of
messages come in and go out."""

from __future__ import annotations

import hmac
import logging
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from voiceagent import __version__
from voiceagent.errors import EngineError
from voiceagent.inference.connection import grpc
from voiceagent.inference.wire import FINAL, KIND, OVERLOADED, SERVICE, InferRequest, InferResponse, message, streamed_error
from voiceagent.model_server.hosted import HostedModel, require_models
from voiceagent.redaction import redacted

log = logging.getLogger(__name__)

Context = grpc.aio.ServicerContext[bytes, bytes]


class InferenceService:
    """Answers the requests of the protocol."""

    def __init__(self, models: Sequence[HostedModel], keys: Sequence[str] = ()) -> None:
        """`keys`: one of them must be shown. None: whoever can reach the server may ask."""
        self._models = require_models(models)
        self._keys = [key.encode() for key in keys]
        self.ready = True
        """False once the server takes no new requests."""
        self.answered: Counter[str] = Counter()
        """Requests by the model's name and what came of them: `stt ok`, `tts failed`."""

    def handler(self) -> grpc.GenericRpcHandler:
        """The service for a gRPC server."""
        unary = {
            "ServerLive": self._live,
            "ServerReady": self._ready,
            "ServerMetadata": self._server,
            "ModelReady": self._model_ready,
            "ModelMetadata": self._model,
            "ModelInfer": self._infer,
        }
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            name: grpc.unary_unary_rpc_method_handler(answer) for name, answer in unary.items()
        }
        methods["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(self._stream)
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    async def _live(self, data: bytes, context: Context) -> bytes:
        """Open to everybody, as a probe has no key."""
        return bytes(message("ServerLiveResponse")(live=True).SerializeToString())

    async def _ready(self, data: bytes, context: Context) -> bytes:
        """Open to everybody, as a probe has no key."""
        return bytes(message("ServerReadyResponse")(ready=self.ready).SerializeToString())

    async def _server(self, data: bytes, context: Context) -> bytes:
        await self._require_key(context)
        told = message("ServerMetadataResponse")(name="voiceagent", version=__version__)
        return bytes(told.SerializeToString())

    async def _model_ready(self, data: bytes, context: Context) -> bytes:
        await self._require_key(context)
        is_here = await self._name(data, "ModelReadyRequest", context) in self._models
        return bytes(message("ModelReadyResponse")(ready=is_here and self.ready).SerializeToString())

    async def _model(self, data: bytes, context: Context) -> bytes:
        await self._require_key(context)
        model = await self._require_model(await self._name(data, "ModelMetadataRequest", context), context)
        return model.metadata().to_bytes()

    async def _infer(self, data: bytes, context: Context) -> bytes:
        await self._require_key(context)
        try:
            request = InferRequest.from_bytes(data)
        except ValueError as error:
            return await _refuse(context, error)
        model = await self._require_model(request.model, context)
        if model.streams:
            problem = f"the model {model.name!r} answers in parts; ask it by ModelStreamInfer"
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, problem)
        try:
            async with aclosing(model.infer(request)) as answers:
                answer = await anext(answers)
        except ValueError as error:
            self.answered[f"{model.name} refused"] += 1
            return await _refuse(context, error)
        except EngineError as error:
            self.answered[f"{model.name} {error.kind}"] += 1
            code = grpc.StatusCode.RESOURCE_EXHAUSTED if error.kind == OVERLOADED else grpc.StatusCode.ABORTED
            await context.abort(code, _line(error), ((KIND, error.kind),))
        self.answered[f"{model.name} ok"] += 1
        return InferResponse(answer.model, answer.tensors, answer.parameters, request.id).to_bytes()

    async def _stream(self, requests: AsyncIterator[bytes], context: Context) -> AsyncGenerator[bytes, None]:
        """Requests are answered one after another. A failure of one is told in its place, and the stream goes on."""
        await self._require_key(context)
        async for data in requests:
            try:
                request = InferRequest.from_bytes(data)
            except ValueError as error:
                yield streamed_error(_line(error), "", {KIND: "refused", FINAL: True})
                continue
            model = self._models.get(request.model)
            if model is None:
                yield streamed_error(self._no_model(request.model), request.id, {KIND: "no_such_model", FINAL: True})
                continue
            outcome, problem = "ok", ""
            try:
                async with aclosing(model.infer(request)) as answers:
                    async for answer in answers:
                        yield answer.to_streamed_bytes()
            except ValueError as error:
                outcome, problem = "refused", _line(error)
            except EngineError as error:
                outcome, problem = error.kind, _line(error)
            self.answered[f"{model.name} {outcome}"] += 1
            if problem:
                yield streamed_error(problem, request.id, {KIND: outcome, FINAL: True})
            else:
                yield InferResponse(model.name, {}, {FINAL: True}, request.id).to_streamed_bytes()

    async def _require_key(self, context: Context) -> None:
        if not self._keys:
            return
        sent = dict(context.invocation_metadata() or ()).get("authorization", "")
        given = (sent if isinstance(sent, bytes) else sent.encode()).removeprefix(b"Bearer ")
        if not [key for key in self._keys if hmac.compare_digest(given, key)]:
            problem = "the key is missing or wrong; send one as `authorization: Bearer KEY`"
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, problem)

    async def _name(self, data: bytes, kind: str, context: Context) -> str:
        try:
            return str(message(kind).FromString(data).name)
        except Exception:  # noqa: BLE001 - protobuf's error, which it names differently by its implementation
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"it is no {kind}")
            raise AssertionError from None

    async def _require_model(self, name: str, context: Context) -> HostedModel:
        model = self._models.get(name)
        if model is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, self._no_model(name))
            raise AssertionError
        return model

    def _no_model(self, name: str) -> str:
        return f"there is no model {name[:40]!r}; the server has {', '.join(self._models)}"


async def _refuse(context: Context, error: ValueError) -> bytes:
    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the request cannot be read: {_line(error)}", ((KIND, "refused"),))
    raise AssertionError


def _line(error: Exception) -> str:
    return redacted(" ".join(str(error).split()))[:300]
