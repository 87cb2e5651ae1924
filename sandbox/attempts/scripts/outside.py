# What comes before the Python of an attempt that runs outside the sandbox. The
# process that makes the sandbox reads requests from its standard output, and
# writes a reply for each to its standard input, as lines of JSON.
import atexit, ctypes, errno, json, os, re, shutil, signal, socket, stat, subprocess, sys, tempfile, threading, time

TOP, CANARY, KIND = os.environ['TOP'], os.environ['CANARY'], os.environ['KIND']
WS, OUT, NAME = TOP + '/ws', TOP + '/outside', os.path.basename(TOP)
RUNNER = os.getppid()

_requests, sys.stdout = sys.stdout, sys.stderr


def _ask(op, **fields):
    print(json.dumps(dict(fields, op=op)), file=_requests, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        sys.exit(1)  # the attempt is over: what was asked for was a breach
    return json.loads(answer)


def sandbox(**options):
    """Makes the sandbox, with options by their names in sandbox.Options. Returns
    whether there is such a sandbox. Without it the first of the following
    functions makes one."""
    answer = _ask('open', options=options)
    if answer['Error'] and not answer['Refused']:
        raise SystemExit(answer['Error'])
    return not answer['Refused']


def start(until='', **env):
    """Starts the inside script, with variables, and returns when it has printed
    until, or has ended."""
    answer = _ask('start', until=until, env=['%s=%s' % kv for kv in env.items()])
    if answer['Error']:
        raise SystemExit(answer['Error'])


def wait(cancel=False):
    """Waits for the end of the script, if cancel after cancelling it. Returns
    Text, what it printed; Bytes, how much; Error."""
    return _ask('wait', cancel=cancel)


def inside(**env):
    """Runs the inside script to its end, and returns what it printed."""
    start(**env)
    answer = wait()
    if 'TRIED' not in answer['Text']:
        raise SystemExit('%(Error)s: %(Text)s' % answer)
    return answer['Text']


def read(name):
    """Reads a file of the workspace as the file tools do. None: refused."""
    answer = _ask('read', name=name)
    return None if answer['Error'] else answer['Text']


def write(name, text):
    """Writes one as the file tools do, and returns whether that was allowed."""
    return not _ask('write', name=name, value=text)['Error']


def again():
    """Ends the sandbox. The next of these functions makes another one."""
    _ask('again')


def setenv(name, value):
    """Sets a variable of the process that makes the sandbox, for this attempt."""
    _ask('setenv', name=name, value=value)


def reached(*what):
    """Ends the attempt: the sandbox did not hold."""
    _ask('reached', value=' '.join(map(str, what)))


def give(path):
    """Gives a file to the user that commands run as: never root in a container."""
    if KIND in ('docker', 'gvisor') and os.getuid() == 0:
        os.lchown(path, 1000, 1000)


class Process:
    """A process outside, with the secret in its name and its environment. The
    attempt must leave it alive."""

    def __init__(self):
        self.process = subprocess.Popen([CANARY, '1000'], executable=shutil.which('sleep'), env={'SECRET': CANARY})
        self.pid = self.process.pid
        atexit.register(self.end)

    def check(self):
        try:
            self.process.wait(0.1)  # a killed process takes a moment to die
            reached('it killed a process outside')
        except subprocess.TimeoutExpired:
            pass
        with open('/proc/%d/status' % self.pid) as f:
            status = dict(line.split(':', 1) for line in f)
        if int(status['SigPnd'], 16) | int(status['ShdPnd'], 16):
            reached('it sent a signal to a process outside')
        if status['State'].split()[0] not in 'SRD':
            reached('it brought a process outside into the state', status['State'])

    def end(self):
        self.process.kill()
        self.process.wait()


class Listener:
    """A listener outside, at HOST and PORT or at a path, that sends the secret to
    every client. No command may reach it."""

    def __init__(self, family, kind, address):
        self.socket = socket.socket(family, kind)
        self.family, self.kind, self.came = family, kind, 0
        self.socket.bind(address)
        self.address = self.socket.getsockname()
        if kind == socket.SOCK_STREAM:
            self.socket.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            if self.kind == socket.SOCK_DGRAM:
                _, peer = self.socket.recvfrom(100)
                self.came += 1
                self.socket.sendto(CANARY.encode(), peer)
                continue
            connection, _ = self.socket.accept()
            self.came += 1
            try:
                connection.sendall(CANARY.encode())
            except OSError:
                pass  # the peer has gone
            connection.close()

    def check(self):
        # Our own connection comes last: when it is answered, all others have
        # been counted.
        with socket.socket(self.family, self.kind) as s:
            s.settimeout(20)
            s.connect(self.address)
            if self.kind == socket.SOCK_DGRAM:
                s.send(b'x')
            if s.recv(100) != CANARY.encode():
                sys.exit('the listener does not answer')
        if self.came > 1:
            reached('it reached a listener outside:', self.address)


exec(compile(sys.argv[1], 'outside.py', 'exec'))
