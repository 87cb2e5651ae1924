# OpenManus with what its tools need. The sandbox of commands needs namespaces or
# Landlock; where the container has neither, runs say so and refuse.
#
#   docker build -t openmanus .
#   docker run -p 127.0.0.1:8420:8420 -e OPENAI_API_KEY -v openmanus:/data openmanus

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY . .
RUN make build

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
        bash bubblewrap ca-certificates chromium git python3 python3-matplotlib \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --home-dir /data openmanus
COPY --from=build /src/bin/openmanus /usr/local/bin/openmanus
USER openmanus
WORKDIR /data
ENV XDG_DATA_HOME=/data
EXPOSE 8420
HEALTHCHECK CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8420 && printf 'GET /healthz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3"]
ENTRYPOINT ["openmanus"]
CMD ["serve", "--addr", "0.0.0.0:8420"]
