# Runs the code of the python_execute tool. It reads requests from standard
# input, a line of JSON each: {"code", "mark": [half, half], "keep"}. What the
# code prints goes where it goes; at the end comes the mark, and a line of
# JSON: {"code": exit code, "images": [base64 of PNG]}.
import sys

if sys.version_info < (3, 8):
    sys.stdout.write("python_execute needs Python 3.8 or newer; this is " + sys.version.split()[0] + "\n")
    sys.exit(1)

import atexit, base64, io, json, linecache, os, traceback, types, warnings


def run(code, module):
    lines = code.splitlines(True)
    linecache.cache["<code>"] = (len(code), None, lines, "<code>")
    try:
        exec(compile(code, "<code>", "exec"), module.__dict__)
        return 0
    except SystemExit as e:
        if e.code is None:
            return 0
        if isinstance(e.code, int):
            return e.code & 0xFF
        sys.stderr.write(str(e.code) + "\n")
        return 1
    except BaseException as e:
        tb = e.__traceback__
        e.__traceback__ = tb.tb_next if tb is not None else None
        traceback.print_exception(type(e), e, e.__traceback__)
        return 1


def figures():
    if "matplotlib.pyplot" not in sys.modules:
        return []
    plt = sys.modules["matplotlib.pyplot"]
    images = []
    for n in plt.get_fignums()[:10]:
        data = io.BytesIO()
        plt.figure(n).savefig(data, format="png", dpi=100)
        images.append(base64.b64encode(data.getvalue()).decode("ascii"))
    plt.close("all")
    return images


def drawn(result):
    try:
        result["images"] = figures()
    except BaseException:
        traceback.print_exc()
        result["code"] = result["code"] or 1


def reply(request, result, out):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    data = ("".join(request["mark"]) + json.dumps(result) + "\n").encode("utf-8")
    while data:
        data = data[os.write(out, data):]


def serve():
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.set_inheritable(requests.fileno(), False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdin = open(0, "r", closefd=False)
    out = os.dup(1)  # the code may close or replace its own
    pid = os.getpid()
    warnings.filterwarnings("ignore", message=".*non-interactive.*")
    module = None
    for line in requests:
        request = json.loads(line)
        if module is None or not request["keep"]:
            module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        result = {"code": 0, "images": []}
        if not request["keep"]:
            # Registered first, so that it runs last: after the code's own
            # threads have ended and its handlers have run.
            atexit.register(lambda: os.getpid() == pid and reply(request, result, out))
        result["code"] = run(request["code"], module)
        if os.getpid() != pid:  # a child of the code's came out here
            sys.stdout.flush()
            os._exit(result["code"])
        drawn(result)
        if not request["keep"]:
            sys.exit(0)
        reply(request, result, out)


serve()
