"""What the server posts to a webhook passes the library of Standard Webhooks, also what it posts again after two refusals."""
import http.server
import os
import queue
import threading

import httpx
from standardwebhooks.webhooks import Webhook

import check as c
from check import TOKEN, URL, check

came = queue.Queue()
refused = []


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        wh = Webhook(os.environ["TRIGGER_SECRET"])
        try:
            message = wh.verify(body, dict(self.headers))
        except Exception as e:
            message = {"type": f"wrong: {e!r}"}
        if len(refused) < 2:  # it is away for a moment
            refused.append(message["type"])
            self.send_response(503)
        else:
            came.put((self.headers["webhook-id"], message))
            self.send_response(204)
        self.end_headers()

    def log_message(self, *a):
        pass


service = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["WEBHOOK_PORT"])), Service)
threading.Thread(target=service.serve_forever, daemon=True).start()
http_ = httpx.Client(base_url=URL, timeout=60, headers={"Authorization": f"Bearer {TOKEN}"})
session = http_.post("/api/v1/sessions", json={"approve": "ask"}).json()["id"]
http_.post(f"/api/v1/sessions/{session}/messages", json={"id": "m1", "text": "please touch a file"}).raise_for_status()


def next_of(kind):
    while True:
        id, message = came.get(timeout=60)
        if message["data"]["session"] == session and message["type"] == kind:
            return id, message["data"]


first, waiting = next_of("waiting")
check(refused[0] in ("waiting", "finished", "failed", "files"), refused)
check(waiting["question"] and waiting["call"]["tool"] == "bash", waiting)
http_.post(f"/api/v1/sessions/{session}/rulings", json={"call": waiting["call"]["id"], "allow": True}).raise_for_status()
second, ended = next_of("finished")
check(second != first and ended["status"] == "finished" and ended["hook"] == "service", ended)
state = http_.get("/api/v1/webhooks").json()["items"][0]
check(state["name"] == "service" and all(f["session"] != session for f in state["failing"]), state)
again = http_.post("/api/v1/webhooks/service/replay")  # what the sessions of other clients said, to nobody so far
check(again.status_code == 200 and again.json()["sessions"] <= len(state["failing"]), again.text)
print(f"standardwebhooks: {c.count} checks")
