"""Telegram, Matrix, Slack, mail and Airflow reach OpenManus by the bridges in examples/, with a stand-in for each service: what is
asked is answered there once, questions reach the person, and strangers are not heard. Mail is taken by aiosmtpd."""
import email
import email.policy
import http.server
import json
import os
import pathlib
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import urllib.parse

import httpx
from aiosmtpd.controller import Controller
from slack_sdk.signature import SignatureVerifier

import check as c
from check import TOKEN, URL, check

REPOSITORY = pathlib.Path(os.environ["OPENMANUS"]).parent.parent
BRIDGES = REPOSITORY / "examples" / "bridges"
work = pathlib.Path(tempfile.mkdtemp())


class Service:
    """A stand-in: answer(method, path, body) says what a request gets."""

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                reply = json.dumps(answer(self.command, urllib.parse.unquote(self.path), json.loads(body or "null"), self.headers)).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(reply)

            do_GET = do_POST = do_PUT = do

            def log_message(self, *a):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Bridge:
    def __init__(self, name, **env):
        self.process = subprocess.Popen(
            [sys.executable, str(BRIDGES / f"{name}.py")], cwd=work,
            env={**os.environ, "OPENMANUS_URL": URL, "OPENMANUS_TOKEN": TOKEN, "BRIDGE_NAMES": str(work / f"{name}.json"), **env})

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.process.terminate()
        self.process.wait()


def talk(say, heard):
    """What each chat does: say(text, id, by) has somebody say something, heard() returns what came."""
    say("please say hello", 1, "ann")
    first = heard()
    check(first == "Hello from the agent.", first)
    say("please touch a file", 2, "ann")
    question = heard()
    check(question.startswith("May I?") and "touch there.txt" in question, question)
    say("perhaps", 3, "ann")
    check(heard().startswith("Please begin with yes or no."))
    say("Yes", 4, "ann")
    check(heard() == "The file is there.")
    say("please say hello", 5, "eve")
    say("please say hello", 6, "ann")
    first = heard()
    check(first == "Hello from the agent.", first)
    time.sleep(0.5)
    check(heard(0) is None, "somebody else was answered, or one text twice")


def hearing(came):
    def heard(timeout=60):
        try:
            return came.get(timeout=timeout) if timeout else came.get_nowait()
        except queue.Empty:
            return None
    return heard


def telegram():
    updates, came, asked = queue.Queue(), queue.Queue(), {}

    def answer(method, path, body, headers):
        check(path.startswith("/bot12:secret/"), path)
        if path.endswith("/sendMessage"):
            check(body["chat_id"] == 77, body)
            came.put(body["text"])
            return {"ok": True, "result": {}}
        try:
            return {"ok": True, "result": [updates.get(timeout=1)]}
        except queue.Empty:
            return {"ok": True, "result": []}

    def say(text, id, by):
        update = {"update_id": id, "message": {"message_id": id, "from": {"id": 5 if by == "ann" else 6}, "chat": {"id": 77}, "text": text}}
        updates.put(update)
        asked[id] = update

    service = Service(answer)
    with Bridge("telegram", TELEGRAM_TOKEN="12:secret", TELEGRAM_USERS="5,9", TELEGRAM_API=service.url):
        talk(say, hearing(came))


def matrix():
    news, came, sent = queue.Queue(), queue.Queue(), {}

    def answer(method, path, body, headers):
        check(headers["Authorization"] == "Bearer mx", path)
        if method == "PUT":
            if path not in sent:  # a transaction that is sent again changes nothing
                came.put(body["body"])
            sent[path] = body
            return {"event_id": "$x"}
        if "since=" not in path:
            return {"next_batch": "s0"}
        try:
            events = [news.get(timeout=1)]
        except queue.Empty:
            events = []
        return {"next_batch": "s1", "rooms": {"join": {"!room:example.org": {"timeline": {"events": events}}}}}

    def say(text, id, by):
        news.put({"type": "m.room.message", "event_id": f"${id}/x", "sender": f"@{by}:example.org", "content": {"msgtype": "m.text", "body": text}})

    service = Service(answer)
    with Bridge("matrix", MATRIX_URL=service.url, MATRIX_TOKEN="mx", MATRIX_USERS="@ann:example.org"):
        talk(say, hearing(came))


def slack():
    came = queue.Queue()

    def answer(method, path, body, headers):
        check(path == "/chat.postMessage" and body["thread_ts"] == "1.000", (path, body))
        came.put(body["text"])
        return {"ok": True}

    service = Service(answer)
    number = free_port()
    at = f"http://127.0.0.1:{number}/"

    def post(body, secret="sesame", stamp=None):
        stamp = stamp or str(int(time.time()))
        signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
        return httpx.post(at, content=body, headers={"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature})

    def say(text, id, by):
        event = {"type": "app_mention", "user": "U1" if by == "ann" else "U2", "channel": "C1", "ts": f"{id}.000", "thread_ts": "1.000", "text": f"<@BOT> {text}"}
        for _ in range(2):  # Slack sends again what was not taken in time
            check(post(json.dumps({"event": event})).status_code == 200)

    with Bridge("slack", SLACK_TOKEN="xoxb", SLACK_SIGNING_SECRET="sesame", SLACK_USERS="U1", SLACK_API=service.url, PORT=str(number)):
        for _ in range(100):
            try:
                reply = post('{"type": "url_verification", "challenge": "abc"}')
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        check(reply.text == "abc", reply.text)
        check(post("{}", secret="wrong").status_code == 401)
        check(post("{}", stamp=str(int(time.time()) - 600)).status_code == 401)
        talk(say, hearing(came))


class Office:
    """A server of mail that keeps what it takes, and refuses the first letters if asked to."""

    def __init__(self, refuse=0):
        self.came, self.refuse = queue.Queue(), refuse
        port = free_port()
        self.controller, self.at = Controller(self, hostname="127.0.0.1", port=port), f"127.0.0.1:{port}"
        self.controller.start()

    async def handle_DATA(self, server, session, envelope):
        if self.refuse > 0:
            self.refuse -= 1
            return "451 try again later"
        self.came.put((envelope, email.message_from_bytes(envelope.content, policy=email.policy.default)))
        return "250 OK"


def mail_in():
    office = Office()

    def write(text, id, sender="ann@example.org", checked="mx.example.org; dkim=pass header.d=example.org", **headers):
        message = email.message.EmailMessage()
        message["Authentication-Results"] = checked
        message["From"], message["To"], message["Subject"], message["Message-ID"] = f"Ann <{sender}>", "agent@example.org", "a task", f"<{id}@example.org>"
        for name, value in headers.items():
            message[name.replace("_", "-")] = value
        message.set_content(text)
        done = subprocess.run([sys.executable, str(BRIDGES / "mail_in.py")], input=bytes(message), capture_output=True, env={
            **os.environ, "OPENMANUS_URL": URL, "OPENMANUS_TOKEN": TOKEN, "BRIDGE_NAMES": str(work / "mail.json"), "MAIL_USERS": "ann@example.org",
            "MAIL_CHECKED": "mx.example.org", "MAIL_FROM": "agent@example.org", "SMTP": office.at})
        check(done.returncode == 0, done.stderr)
        return office.came.get_nowait()[1] if not office.came.empty() else None

    first = write("please say hello", "a1")
    check(first.get_content().strip() == "Hello from the agent." and first["To"] == "ann@example.org" and first["In-Reply-To"] == "<a1@example.org>", str(first))
    again = write("please say hello", "a1")
    check(again["Message-ID"] == first["Message-ID"], str(again))
    question = write("please touch a file\n> please say hello", "a2", In_Reply_To=first["Message-ID"], References="<a1@example.org> " + first["Message-ID"])
    check("May I?" in question.get_content() and question["Subject"] == "Re: a task", str(question))
    done = write("yes", "a3", In_Reply_To=question["Message-ID"], References="<a1@example.org>")
    check(done.get_content().strip() == "The file is there.", str(done))
    for stranger in [
        write("please say hello", "b1", sender="eve@example.org"),
        write("please say hello", "b2", checked="mx.example.org; dkim=fail header.d=example.org"),
        write("please say hello", "b3", checked="mx.example.org; dkim=pass header.d=example.net"),
        write("please say hello", "b4", checked="evil.example.net; dkim=pass header.d=example.org"),
        write("please say hello", "b5", checked="mx.example.org; dkim=pass header.d=example.org.evil.example.net"),
        write("please say hello", "b6", Auto_Submitted="auto-replied"),
    ]:
        check(stranger is None, str(stranger))


def schedule():
    """What a schedule mails, a library of Python reads, also after a try that failed."""
    office = Office(refuse=1)
    home = work / "home"
    home.mkdir()
    (work / "hi.txtar").write_text("-- any --\nGrüße: *42* = 你好\n.\n")
    (work / "mail.toml").write_text(f'[mail]\nserver = "{office.at}"\nsecurity = "none"\nfrom = "Der Agent <agent@example.org>"\n')

    def run(*args):
        return subprocess.run([os.environ["OPENMANUS"], "--config", "mail.toml", "--data-dir", str(home), *args], cwd=work, capture_output=True, text=True)

    added = run("schedule", "add", "report", "--at", "2036-05-01T09:00", "--zone", "UTC", "--model", f"scripted:{work / 'hi.txtar'}", "--mail", "Ann <ann@example.org>, bob@example.org", "say hello")
    check(added.returncode == 0, added.stderr)
    late = run("schedule", "run-due", "--now", "2036-05-01T09:01:00Z")
    check(late.returncode == 1 and "451" in late.stderr and "will be sent again" in late.stderr, late.stderr)
    due = run("schedule", "run-due", "--now", "2036-05-01T09:10:00Z")
    check(due.returncode == 0, due.stderr)
    envelope, message = office.came.get(timeout=10)
    check(envelope.rcpt_tos == ["ann@example.org", "bob@example.org"] and message["Subject"] == "report 2036-05-01 09:00: finished", str(message))
    check(message.get_content().startswith("Grüße: *42* = 你好\r\n.\r\n") and not message.defects, (message.get_content(), message.defects))
    run("schedule", "run-due", "--now", "2036-05-01T10:00:00Z")
    check(office.came.empty(), "the report was mailed twice")


def airflow():
    """The operator, on a stand-in of Airflow's class: execute is called as a worker does."""
    sdk = types.ModuleType("airflow.sdk")

    class BaseOperator:
        def __init__(self, task_id):
            self.task_id, self.log = task_id, types.SimpleNamespace(info=lambda *a: None)

    sdk.BaseOperator = BaseOperator
    sys.modules["airflow"], sys.modules["airflow.sdk"] = types.ModuleType("airflow"), sdk
    sys.path.insert(0, str(BRIDGES))
    from airflow_operator import OpenManusOperator

    ti = types.SimpleNamespace(dag_id="d", task_id="t", run_id=f"run-{time.time()}", map_index=-1)
    op = OpenManusOperator(task_id="t", task="please say hello", url=URL, token=TOKEN)
    check(op.execute({"ti": ti}) == "Hello from the agent.")
    check(op.execute({"ti": ti}) == "Hello from the agent.")  # tried again: the same session
    sessions = httpx.get(URL + "/api/v1/sessions?limit=100", headers={"Authorization": f"Bearer {TOKEN}"}).json()["items"]
    check(sum(s["title"] == "please say hello" and s["approve"] == "readonly" for s in sessions) == 1, sessions)


for bridge in (telegram, matrix, slack, mail_in, schedule, airflow):
    bridge()
print(f"{c.count} checks of the bridges of Telegram, Matrix, Slack, mail and Airflow")
