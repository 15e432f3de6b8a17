# attribound on the command line: docker build -t attribound . && docker run --rm -v "$PWD:/work" attribound demo
FROM python:3.11-slim

WORKDIR /app
COPY pyproject.toml constraints.txt hatch_build.py README.md LICENSE ./
COPY src src
# constraints.txt pins the versions.
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --constraint constraints.txt torch \
    && PIP_CONSTRAINT=constraints.txt pip install --no-cache-dir '.[parquet]' \
    && useradd --create-home --uid 1000 certifier

USER 1000
WORKDIR /work
ENTRYPOINT ["attribound"]
CMD ["--help"]
