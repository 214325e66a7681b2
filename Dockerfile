# The service in a container, built from the checkout:
#
#     docker build -t miserly .
#     docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#         -v ./models:/models:ro -p 8000:8000 miserly
#
# docs/serve.md says more. Any image with Python 3.11 or later can be the base.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/miserly
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/miserly/bin/pip install ".[serve,postgres]"
# Compile what every plan needs now, so that a container starts in a second and needs no cache of its own.
RUN /opt/miserly/bin/python -m compileall -q /opt/miserly/lib \
    && /opt/miserly/bin/python -m miserly.serve.warming

FROM ${BASE}
# A user without a name, a home or a shell.
USER 10001:10001
COPY --from=build /opt/miserly /opt/miserly
ENV PATH=/opt/miserly/bin:$PATH HOME=/nonexistent PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 MISERLY_HEALTH=http://127.0.0.1:8000/healthz
WORKDIR /models
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-m", "miserly.serve.health"]
ENTRYPOINT ["miserly", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/models"]
