# OpenManus with what its tools need.
#
#   docker build -t openmanus .
#   docker run --name openmanus -p 127.0.0.1:8420:8420 -e OPENAI_API_KEY -v openmanus:/data openmanus
#   docker logs openmanus | head -1     # the link
#
# Commands of agents run in a sandbox within the container, which needs either
# Landlock (Linux 6.2) or leave to make namespaces. Where there is neither, runs
# say so and refuse.

ARG GO=golang:1.26-bookworm
ARG BASE=debian:bookworm-slim

FROM ${GO} AS build
WORKDIR /src
COPY . .
RUN make build

FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends \
        bash bubblewrap ca-certificates chromium git python3 python3-matplotlib \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --home-dir /data openmanus
COPY --from=build /src/bin/openmanus /usr/local/bin/openmanus
USER openmanus
WORKDIR /data
ENV XDG_DATA_HOME=/data
VOLUME /data
EXPOSE 8420
HEALTHCHECK CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8420 && printf 'GET /healthz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3"]
ENTRYPOINT ["openmanus"]
CMD ["serve", "--addr", "0.0.0.0:8420"]
