# The agent. `docker build .` makes the one for CPUs; with `--build-arg GPU=1` Whisper runs on an NVIDIA GPU, and
# with `--build-arg NOISE=1` noise and echo can be taken out of callers' audio (docs/telephony.md), and with `--build-arg POSTGRESQL=1`
# calls can be kept in PostgreSQL (docs/calls.md), with `--build-arg REDIS=1` their events can go to Redis (docs/event-streams.md), and
# with `--build-arg REMOTE=1` models can be served and asked by gRPC (docs/models.md), and with `--build-arg CLUSTER=1` it has Ray
# (docs/scale.md). The image holds piper-tts (GPL-3.0)
# beside voiceagent (Apache-2.0): whoever distributes it distributes both, see README.md. Packages are checked by the hashes of
# requirements/; `make pin-images` adds the digest of the image that this one stands on.
ARG PYTHON_IMAGE=python:3.11.13-slim-bookworm
FROM ${PYTHON_IMAGE} AS build
ARG GPU=0 NOISE=0 POSTGRESQL=0 REDIS=0 REMOTE=0 CLUSTER=0
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/voiceagent
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE latency_budgets.yaml ./
COPY requirements requirements
COPY scripts/install-locked.sh scripts/remove-build-tools.sh scripts/
RUN bash scripts/install-locked.sh /opt/voiceagent requirements/runtime.lock
RUN if [ "$GPU" = 1 ]; then bash scripts/install-locked.sh /opt/voiceagent requirements/gpu.lock; fi
RUN if [ "$NOISE" = 1 ]; then bash scripts/install-locked.sh /opt/voiceagent requirements/noise.lock; fi
RUN if [ "$POSTGRESQL" = 1 ]; then bash scripts/install-locked.sh /opt/voiceagent requirements/postgresql.lock; fi
RUN if [ "$REDIS" = 1 ]; then bash scripts/install-locked.sh /opt/voiceagent requirements/redis.lock; fi
RUN if [ "$REMOTE" = 1 ]; then bash scripts/install-locked.sh /opt/voiceagent requirements/remote.lock; fi
RUN if [ "$CLUSTER" = 1 ]; then bash scripts/install-locked.sh /opt/voiceagent requirements/cluster.lock; fi
COPY voiceagent voiceagent
COPY web web
COPY docs/man docs/man
COPY models/registry.yaml models/registry.yaml
COPY models/bundled models/bundled
COPY examples examples
RUN /opt/voiceagent/bin/pip install --no-deps --no-index --no-build-isolation . \
    && bash scripts/remove-build-tools.sh /opt/voiceagent requirements/runtime.lock \
    && /opt/voiceagent/bin/pip check

FROM ${PYTHON_IMAGE}
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin voiceagent \
    && install -d -o voiceagent -g voiceagent /data /models /agent
COPY --from=build /opt/voiceagent /opt/voiceagent
ENV PATH=/opt/voiceagent/bin:$PATH \
    LD_LIBRARY_PATH=/opt/voiceagent/lib/python3.11/site-packages/nvidia/cublas/lib:/opt/voiceagent/lib/python3.11/site-packages/nvidia/cudnn/lib \
    HOME=/tmp VOICEAGENT_DATA=/data VOICEAGENT_MODELS=/models OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER voiceagent
VOLUME ["/data", "/models"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
ENTRYPOINT ["voiceagent"]
CMD ["serve", "--host", "0.0.0.0"]
