"""The client that openapi-python-client makes of the description, through a whole session."""
import importlib
import io
import json
import pathlib
import subprocess
import sys
import urllib.request

import check as c
from check import TOKEN, URL, check

request = urllib.request.Request(URL + "/api/v1/openapi.json", headers={"Authorization": "Bearer " + TOKEN})
doc = pathlib.Path("described_for_python.json")
doc.write_bytes(urllib.request.urlopen(request).read())
made = subprocess.run([str(pathlib.Path(sys.executable).parent / "openapi-python-client"), "generate", "--path", str(doc),
                       "--meta", "none", "--output-path", "generated_api"],  # it warns of media types that it leaves as bytes
                      capture_output=True, text=True)
check(made.returncode == 0, made.stdout + made.stderr)
modules = [p for p in pathlib.Path("generated_api/api").glob("*/*.py") if p.name != "__init__.py"]
operations = sum(len(item) for item in json.loads(doc.read_text())["paths"].values())
check(len(modules) == operations, (len(modules), operations))

import generated_api.models as m
from generated_api import AuthenticatedClient
from generated_api.types import File

client = AuthenticatedClient(base_url=URL, token=TOKEN, timeout=60, raise_on_unexpected_status=True)


def do(tag, name, *args, status=200, **more):
    got = importlib.import_module(f"generated_api.api.{tag}.{name}").sync_detailed(*args, client=client, **more)
    check(got.status_code == status, (name, got.status_code, got.content))
    return got.parsed


session = do("sessions", "create_session", body=m.CreateRequestBody.from_dict({"approve": "ask", "limits": {"steps": 9}}), status=201)
do("content", "write_file", session.id, "in/notes.txt", body=File(payload=io.BytesIO(b"six words")), status=204)
do("content", "write_file", session.id, "in/empty", body=File(payload=io.BytesIO(b"")), status=204)
files = {f.path: f.bytes_ for f in do("content", "list_files", session.id).items}
check(files == {"in/notes.txt": 9, "in/empty": 0}, files)
said = do("acts", "send_message", session.id, body=m.MessageRequestBody(id="m1", text="touch a file"), status=202)
again = do("acts", "send_message", session.id, body=m.MessageRequestBody(id="m1", text="touch a file"), status=202)
check(again.seq == said.seq, (said, again))


def follow(after, until):
    """The numbers and types of stored events, until one of a type. A generated client has no
    streams: its connection reads them."""
    seq, got = after, []
    with client.get_httpx_client().stream("GET", f"/api/v1/sessions/{session.id}/events", params={"after": after}) as r:
        check(r.status_code == 200, r.status_code)
        ids = None
        for line in r.iter_lines():
            if line.startswith("id: "):
                ids = int(line[4:])
            elif line.startswith("event: ") and ids is not None:
                check(ids == seq + 1, (ids, seq))
                seq = ids
                got.append(line[7:])
            elif line == "":
                if ids is not None and got and got[-1] == until:
                    return seq, got
                ids = None
    raise AssertionError(f"the stream ended before {until}: {got}")


at, types = follow(0, "asked")
check("user_said" in types, types)
waits = do("sessions", "read_session", session.id)
call = waits.waiting[0]
check(call.tool == "bash", waits)
do("acts", "rule", session.id, body=m.RulingRequestBody(call=call.call, allow=True), status=202)
at, types = follow(at, "model_said")
check("ruled" in types, types)
done = do("sessions", "read_session", session.id, wait=60)
check(done.answer == "The file is there." and done.status == "finished", done)
check(do("content", "read_file", session.id, "there.txt") == b"")
check(do("content", "read_file", session.id, "in/notes.txt") == b"six words")
do("sessions", "delete_session", session.id, status=204)
do("sessions", "read_session", session.id, status=404)
print(f"openapi-python-client: {operations} operations, {c.count} checks")
