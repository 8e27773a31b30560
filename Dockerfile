# The packages and the code are built and compiled in a first stage; the image has no pip, no compiler.
FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /app
COPY .ci/lock.txt .
RUN python -m venv --without-pip /venv \
    && sed '/^# --- runtime/,$d' lock.txt > setup.txt && sed '/^# --- dev/,$d' lock.txt > server.txt \
    && pip install -q --require-hashes -r setup.txt \
    && pip --python /venv/bin/python install -q --no-compile --no-deps --require-hashes \
        -r server.txt \
    && python -m compileall -qq --invalidation-mode unchecked-hash /venv/lib
COPY agent /venv/lib/python3.11/site-packages/agent
# The command prints JSON on a terminal too: what an image prints is for programs.
RUN python -m compileall -q --invalidation-mode unchecked-hash /venv/lib/python3.11/site-packages/agent \
    && printf '%s\n' '#!/venv/bin/python' 'from agent.cli import main' 'main(for_people=False)' \
        > /venv/bin/research-agent \
    && chmod 755 /venv/bin/research-agent

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="llm-research-agent" \
      org.opencontainers.image.description="Answers a question as one JSON object with citations that anyone can verify" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /venv /venv
COPY LICENSE /venv/
# /tmp: journals and the index work with any --user, and under --read-only with --tmpfs /tmp.
# SAFEPATH: a folder of the user's that is mounted as the working directory is not imported from.
ENV PATH=/venv/bin:$PATH PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp RUNS_DIR=/tmp/research-agent/runs CACHE_DIR=/tmp/research-agent/cache
# What docs/compose.yaml mounts to keep them: a named volume takes the owner of this directory.
RUN install -d -o 10001 -g 10001 /data
USER 10001:10001
WORKDIR /data
# Python answers SIGINT with the best answer so far; as process 1 it would not hear SIGTERM at once.
STOPSIGNAL SIGINT
# The command line; docs/compose.yaml starts the page and the API of the same image.
ENTRYPOINT ["research-agent"]
CMD ["--help"]
