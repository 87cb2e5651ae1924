# What comes before the Python of an attempt that runs in the sandbox. An
# OSError ends the script, and counts as made: the sandbox refused something.
# Any other exception is a fault of the script, which is then not made.
import ctypes, errno, itertools, os, signal, socket, struct, subprocess, sys, threading, time

OUT, NAME, RUNNER = os.environ['OUT'], os.environ['NAME'], int(os.environ['RUNNER'])

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = libc.ptrace.restype = ctypes.c_long


def reached(*what):
    print('REACHED', *what, flush=True)


def last_error():
    return errno.errorcode.get(ctypes.get_errno())


def attempt(what, action):
    """Reports what was reached if action() is not refused."""
    try:
        action()
    except OSError as e:
        print(what, e, flush=True)
    else:
        reached(what)


def step(action, *args):
    """Does a step that may be refused, and is judged by what it leaves."""
    try:
        action(*args)
    except OSError as e:
        print(e, flush=True)


def syscall(amd64, arm64, *args):
    """Makes a system call, by its number; reports it if it succeeds."""
    number = arm64 if os.uname().machine == 'aarch64' else amd64
    if libc.syscall(number, *args) >= 0:
        reached('system call', number)
    else:
        print('system call', number, last_error(), flush=True)


try:
    exec(compile(sys.argv[1], 'inside.py', 'exec'))
except OSError as e:
    print('refused:', e)
print('TRIED', flush=True)
