"""A conversation with OpenManus over its HTTP API, for bridges from elsewhere. Standard library only.

Each conversation elsewhere (a chat, a room, a thread of mail) is one session. What a person says is a message,
or, if something waits for them, the answer: yes, no and a reason, or whatever was asked.
"""
import hashlib
import json
import os
import pathlib
import urllib.error
import urllib.request


class OpenManus:
    def __init__(self, url, token, names, approve="ask"):
        self.url, self.token, self.approve = url.rstrip("/") + "/api/v1", token, approve
        self.names = pathlib.Path(names)  # which session belongs to which conversation
        self.sessions = json.loads(self.names.read_text()) if self.names.exists() else {}

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read() or "{}")

    def session(self, conversation):
        """The session of a conversation; a new one the first time."""
        if conversation not in self.sessions:
            self.sessions[conversation] = self.call("POST", "/sessions", {"approve": self.approve})["id"]
            new = self.names.with_suffix(".new")
            new.write_text(json.dumps(self.sessions))
            os.replace(new, self.names)
        return self.sessions[conversation]

    def say(self, conversation, id, text):
        """Says a text, and returns what comes of it. A text with the same id is said once, however often it is delivered."""
        session = self.session(conversation)
        waiting = self.waiting(self.call("GET", f"/sessions/{session}"))
        if waiting is None:
            key = hashlib.sha256(f"{conversation} {id}".encode()).hexdigest()
            self.call("POST", f"/sessions/{session}/messages", {"id": key, "text": text})
        elif waiting["kind"] == "text":
            self.call("POST", f"/sessions/{waiting['session']}/answers", {"call": waiting["call"], "answer": text})
        else:
            word, _, reason = text.strip().partition(" ")
            if word.lower().strip(",.!") not in ("yes", "no"):
                return "Please begin with yes or no.\n\n" + self.asked(waiting)
            allow = word.lower().startswith("yes")
            self.call("POST", f"/sessions/{waiting['session']}/rulings", {"call": waiting["call"], "allow": allow, "reason": reason})
        return self.wait(session)

    def wait(self, session):
        """What a session has to say when it no longer runs: its answer, its question, or why it ended."""
        while True:
            s = self.call("GET", f"/sessions/{session}?wait=60")
            if s["status"] != "running":
                break
        waiting = self.waiting(s)
        if waiting is not None:
            return self.asked(waiting)
        return s.get("answer") or s.get("error") or f"It is {s['status']}."

    @staticmethod
    def waiting(s):
        return next(iter((s.get("waiting") or []) + (s.get("below") or [])), None)

    @staticmethod
    def asked(waiting):
        if waiting["kind"] == "text":
            return waiting["question"]
        return f"May I? {waiting.get('question') or ''}\n{waiting['tool']} {waiting['input']}\n\nyes, or no and why"


def parts(text, size=3500):
    """A long text in parts that a chat takes, cut at ends of lines where there are some."""
    while text:
        end = len(text) if len(text) <= size else (text.rfind("\n", 1, size) if "\n" in text[1:size] else size)
        yield text[:end]
        text = text[end:].lstrip("\n")


def from_environment(names):
    """The server of OPENMANUS_URL and OPENMANUS_TOKEN."""
    return OpenManus(os.environ["OPENMANUS_URL"], os.environ["OPENMANUS_TOKEN"], os.environ.get("BRIDGE_NAMES", names))
