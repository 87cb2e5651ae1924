"""What the clients in Python share: where the server is, and checks that are counted."""
import os

URL = os.environ["OPENMANUS_URL"]
TOKEN = os.environ["OPENMANUS_TOKEN"]
count = 0


def check(ok, what="it is not as it should be"):
    global count
    assert ok, what
    count += 1


def fails(status, run, param=None):
    """run must raise an error of the client with this status, about this field."""
    try:
        got = run()
    except Exception as e:
        assert getattr(e, "status_code", None) == status, (status, repr(e))
        if param is not None:
            assert e.param == param, (param, e.param, repr(e))
        check(True)
        return e
    raise AssertionError(f"no error: {got!r}")
