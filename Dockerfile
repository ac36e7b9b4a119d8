# Toolscout with Node beside it, so that stdio servers from npm run too.
FROM golang:1.26-trixie AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=0.1.0
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /toolscout ./cmd/toolscout

FROM node:22-trixie-slim
# The folder is made here so that a volume over it belongs to the user too.
RUN useradd --create-home --home-dir /var/lib/toolscout toolscout \
  && install -d -o toolscout -g toolscout -m 0700 /var/lib/toolscout/data
COPY --from=build /toolscout /usr/local/bin/toolscout
COPY LICENSE NOTICE /usr/share/doc/toolscout/
USER toolscout
WORKDIR /var/lib/toolscout
ENV TOOLSCOUT_ADDR=0.0.0.0:8080 TOOLSCOUT_DATA_DIR=/var/lib/toolscout/data
VOLUME /var/lib/toolscout/data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/readyz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["toolscout"]
CMD ["serve"]
