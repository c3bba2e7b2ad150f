# The service without a database of its own: give it DATABASE_URL. `evenhand worker` in the same image runs the checks.
# To use another base image, pass --build-arg PYTHON=... ; requirements.lock fits Python 3.11 and newer.
ARG PYTHON=python:3.13.9-slim-bookworm

FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/evenhand
COPY requirements.lock /tmp/requirements.lock
RUN /opt/evenhand/bin/python -m pip install --only-binary :all: --require-hashes -r /tmp/requirements.lock
COPY LICENSE /opt/evenhand/src/
COPY app /opt/evenhand/src/evenhand
COPY migrations /opt/evenhand/src/evenhand/migrations
COPY docs /opt/evenhand/src/evenhand/docs
# The project is not built: its folder goes on the import path, and a launcher replaces the console script.
RUN echo /opt/evenhand/src > "$(/opt/evenhand/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/evenhand.pth" \
    && printf '#!/bin/sh\nexec /opt/evenhand/bin/python -P -m evenhand.cli "$@"\n' > /opt/evenhand/bin/evenhand \
    && chmod 755 /opt/evenhand/bin/evenhand \
    && /opt/evenhand/bin/python -m compileall -q /opt/evenhand/src

FROM ${PYTHON}
RUN useradd --system --uid 10001 --no-create-home --home-dir /var/lib/evenhand --shell /usr/sbin/nologin evenhand \
    && install -d -o evenhand -g evenhand -m 0700 /var/lib/evenhand
COPY --from=build /opt/evenhand /opt/evenhand
ENV PATH=/opt/evenhand/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    EVENHAND_HOST=0.0.0.0 \
    EVENHAND_PORT=8000 \
    EVENHAND_DATA_DIR=/var/lib/evenhand
USER evenhand
WORKDIR /var/lib/evenhand
VOLUME /var/lib/evenhand
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['EVENHAND_PORT'] + '/health/ready', timeout=4)"]
CMD ["evenhand", "serve", "--without-worker"]
