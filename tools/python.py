# The interpreter of the tool python_execute. It runs in the sandbox of the
# workspace if there is one, with three pipes and nothing else:
#
#   standard input   requests: a line "run TAG MARK SIZE" and then SIZE bytes of
#                    code, or a line "stop TAG"
#   standard output  what the code prints, on either stream, in order; where
#                    the interpreter is kept, after each request its MARK
#   standard error   records: "ready", "done MARK EXITCODE", "image SIZE" and
#                    then a PNG, "old VERSION"
#
# With the argument "once" it runs one request as a script and ends like one; with
# "keep" it runs requests one after the other, like a notebook. Python 2 must be
# able to parse this file, to report that it is too old.
import sys

if sys.version_info < (3, 7):
    sys.stderr.write("old " + sys.version.split()[0] + "\n")
    sys.exit(1)

in_workspace = sys.path[:1] == [""]
if in_workspace:  # its files must not shadow the modules imported here
    sys.path.pop(0)
import io
import linecache
import os
import signal
import time
import traceback
import types
import warnings

if in_workspace:
    sys.path.insert(0, "")
HERE = (lambda: None).__code__.co_filename  # frames of this file are left out of tracebacks
MAX_IMAGES = 20  # for one call
MAX_BYTES = 32 << 20  # of all images
MAX_PIXELS = 2000  # of the longer side


class Main(types.ModuleType):
    """The module __main__. As with python -c, __file__ is not among its names;
    but code that starts it again in a new process finds a file: see
    multiprocessing.spawn."""

    @property
    def __file__(self):
        if Main.path is None:
            raise AttributeError("__file__")
        return Main.path

    path = None


class Output(object):
    """The pipes to the tool, out of reach of the code."""

    def __init__(self):
        self.pid = os.getpid()
        self.requests = os.fdopen(os.dup(0), "rb")
        self.printed = os.dup(1)
        self.records = os.dup(2)
        os.dup2(1, 2)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        sys.stdin = sys.__stdin__ = open(0, closefd=False)
        sys.stdout = sys.__stdout__ = unbuffered(1)
        sys.stderr = sys.__stderr__ = unbuffered(2)

    def record(self, line, data=b""):
        if os.getpid() == self.pid:  # not in a process that the code forked
            write(self.records, line.encode("ascii") + b"\n" + data)


def unbuffered(fd):
    """A stream that loses nothing if the process is killed, and can print anything."""
    return io.TextIOWrapper(io.FileIO(fd, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)


def write(fd, data):
    while data:
        data = data[os.write(fd, data):]


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:  # closed, or replaced by something that is not a stream
            pass


# Running code


def run(code, name, module, notebook):
    """Runs code and returns its exit code."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        for part in compiled(code, name, notebook):
            exec(part, module.__dict__)
        return 0
    except SystemExit as e:
        return exit_code(e.code)
    except BaseException as e:
        report(e, code)
        return 130 if isinstance(e, KeyboardInterrupt) else 1


def compiled(code, name, notebook):
    """Compiles code; in a notebook, a last expression so that it shows its value."""
    import _ast
    tree = compile(code, name, "exec", _ast.PyCF_ONLY_AST, True)
    if not (notebook and tree.body and isinstance(tree.body[-1], _ast.Expr)):
        return [compile(tree, name, "exec", 0, True)]
    last = _ast.Interactive(body=[tree.body.pop()])
    return [compile(tree, name, "exec", 0, True), compile(last, name, "single", 0, True)]


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(str(code) + "\n")
    return 1


def report(error, code):
    """Prints a traceback of the code's own frames."""
    if sys.excepthook is not sys.__excepthook__:
        tb = error.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename == HERE:
            tb = tb.tb_next
        sys.excepthook(type(error), error, tb)
        return
    shown = traceback.TracebackException(type(error), error, error.__traceback__)
    trim(shown)
    sys.stderr.write("".join(shown.format()))
    if isinstance(error, EOFError) and "input(" in code:
        sys.stderr.write("(There is no input here: put the value into the code.)\n")
    if isinstance(error, SyntaxError) and (error.text or "").lstrip()[:1] in ("!", "%"):
        sys.stderr.write("(This is Python, without the commands of notebooks: for shell commands use subprocess, or the tool bash.)\n")


def trim(shown):
    shown.stack[:] = [frame for frame in shown.stack if frame.filename != HERE]
    for other in [shown.__cause__, shown.__context__] + list(getattr(shown, "exceptions", None) or []):
        if other is not None:
            trim(other)


# Figures


class Pyplot(object):
    """Makes plt.show() send the figures, once the code imports
    matplotlib.pyplot."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                module.show = show

            spec.loader.exec_module = exec_module
        return spec


def show(*args, **kwargs):
    if kwargs.get("block") is not False:  # as plt.pause has it
        send_figures()


def send_figures():
    """Sends the open figures and closes them, as if their windows were closed."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None or not hasattr(plt, "get_fignums"):
        return
    for number in plt.get_fignums():
        if Pyplot.sent >= MAX_IMAGES or Pyplot.size >= MAX_BYTES:
            sys.stderr.write("[figure %d and what follows is not shown: there are too many for one call]\n" % number)
            break
        figure = plt.figure(number)
        data = io.BytesIO()
        try:
            dpi = min(figure.dpi, MAX_PIXELS / max(figure.get_size_inches()))
            figure.savefig(data, format="png", dpi=dpi, bbox_inches="tight")
        except Exception as e:
            sys.stderr.write("[figure %d cannot be drawn: %s: %s]\n" % (number, type(e).__name__, e))
            continue
        Pyplot.sent += 1
        Pyplot.size += data.tell()
        output.record("image %d" % data.tell(), data.getvalue())
    plt.close("all")


# Requests


def read_request(stream):
    """Returns the words of a request and its code; None at the end."""
    words = stream.readline().decode("ascii").split()
    if not words:
        return None, None
    return words, stream.read(int(words[3])) if words[0] == "run" else b""


def main_module():
    module = Main("__main__")
    sys.modules["__main__"] = module
    sys.argv = [""]
    return module


def once(stream):
    words, code = read_request(stream)
    if words is None:
        return
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("code")
        write(fd, code)
        Main.path = "/proc/%d/fd/%d" % (os.getpid(), fd)
    status = run(code.decode("utf-8"), "<code>", main_module(), False)
    send_figures()
    sys.exit(status)


def keep(stream):
    """Carries out requests until there are no more."""
    module, cell = main_module(), 0
    running = [False]

    def interrupted(signum, frame):
        if running[0]:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    while True:
        try:
            words, code = read_request(stream)
            if words is None:
                return
            status = 0
            if code:
                cell += 1
                Pyplot.sent = Pyplot.size = 0
                signal.signal(signal.SIGINT, interrupted)
                os.environ["OPENMANUS_CALL"] = words[1]
                running[0] = True
                status = run(code.decode("utf-8"), "<cell %d>" % cell, module, True)
                send_figures()
        except KeyboardInterrupt:
            status = 130
        running[0] = False
        os.environ.pop("OPENMANUS_CALL", None)
        flush()
        if os.getpid() != output.pid:
            os._exit(status)
        write(output.printed, words[2].encode("ascii"))
        output.record("done %s %d" % (words[2], status))


# The relay: a child process that passes on the requests of a kept interpreter,
# and can therefore stop a request while it runs.


def relay(stream, sink):
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    interpreter, kept, began = os.getppid(), set(), 0
    while True:
        words, code = read_request(stream)
        if words is None:
            break
        if words[0] == "stop":
            os.kill(interpreter, signal.SIGINT)
            end(interpreter, kept, began, words[1])
            continue
        if code:
            kept, began = children(interpreter), now()
        write(sink, (" ".join(words) + "\n").encode("ascii") + code)
    # The tool is gone.
    end(interpreter, set(), 0, None)
    os.kill(interpreter, signal.SIGKILL)


def end(interpreter, kept, began, tag):
    """Kills what the interpreter started since then, except for what is kept. It
    looks again until it finds no more, or some seconds have passed. Without a
    tag it kills everything."""
    if not os.path.exists("/proc/self/stat"):
        os.kill(interpreter, signal.SIGKILL)  # there is no way to find what it started
        return
    mine, killed, deadline = (os.getpid(), interpreter), set(), time.time() + 4
    while time.time() < deadline:
        table = processes()
        victims = [p for p in table if p not in mine and (started(p, interpreter, kept, table) or carries(p, table[p][1] >= began, tag))]
        for sig in (signal.SIGSTOP, signal.SIGKILL):  # so that none reacts to the death of another
            for p in victims:
                try:
                    os.kill(p, sig)
                except OSError:  # it is gone, or belongs to another user
                    pass
        killed.update(victims)
        if not killed.intersection(table):
            return


def started(p, interpreter, kept, table):
    """Reports whether a process descends from the interpreter, and not from
    what is kept or from the relay."""
    while p in table and p not in kept and p != os.getpid():
        parent = table[p][0]
        if parent == interpreter:
            return True
        p = parent
    return False


def carries(p, young, tag):
    """Reports whether a process has the tag in its environment, or is new and has
    no tag: a fork of the interpreter whose parents have died."""
    try:
        with open("/proc/%d/environ" % p, "rb") as f:
            environ = f.read()
    except OSError:
        return False
    ours = os.environ.get("OPENMANUS_RUN", "none").encode() in environ
    if tag is None:
        return ours
    return b"OPENMANUS_CALL=" + tag.encode("ascii") in environ or young and ours and b"OPENMANUS_CALL=" not in environ


def children(p):
    found = set()
    try:
        for task in os.listdir("/proc/%d/task" % p):
            with open("/proc/%d/task/%s/children" % (p, task)) as f:
                found.update(int(child) for child in f.read().split())
        return found
    except OSError:  # not every kernel has it
        return set(q for q, (parent, _) in processes().items() if parent == p)


def processes():
    """The parents and the start times of all living processes."""
    table = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return table
    for name in names:
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat", "rb") as f:
                    words = f.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if len(words) > 19 and words[0] not in (b"Z", b"X"):
                table[int(name)] = int(words[1]), int(words[19])
    return table


def now():
    """The time as the kernel counts it: in hundredths of a second."""
    try:
        with open("/proc/uptime") as f:
            return int(f.read().split()[0].replace(".", ""))
    except OSError:
        return 0


def through_relay(stream):
    """Returns where requests come from, once a relay reads them from stream."""
    if not hasattr(os, "fork"):
        return stream
    source, sink = os.pipe()
    if os.fork() == 0:
        os.close(source)
        try:
            relay(stream, sink)
        finally:
            os._exit(0)
    os.close(sink)
    stream.close()
    return os.fdopen(source, "rb")


Pyplot.sent = Pyplot.size = 0
output = Output()
warnings.filterwarnings("ignore", message=".*non-interactive.*")
sys.meta_path.insert(0, Pyplot())
kept = sys.argv[1:] == ["keep"]
requests = through_relay(output.requests) if kept else output.requests
output.record("ready")
(keep if kept else once)(requests)
