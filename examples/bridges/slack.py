"""Talk with OpenManus in Slack: python3 slack.py

It serves the address of Slack's Events API; mentions of the app, and messages to it, are answered in their thread.

SLACK_TOKEN, SLACK_SIGNING_SECRET    of your app (scopes chat:write, app_mentions:read, im:history)
SLACK_USERS                          the ids of those who may talk with it, separated by commas; others are not answered
PORT                                 where it listens, on 127.0.0.1; default 8421
OPENMANUS_URL, OPENMANUS_TOKEN       your server and your token there
"""
import concurrent.futures
import hashlib
import hmac
import http.server
import json
import os
import re
import time
import urllib.request

import openmanus

API = os.environ.get("SLACK_API", "https://slack.com/api")
USERS = set(os.environ["SLACK_USERS"].split(","))
manus = openmanus.from_environment("slack.json")
threads = {}  # what is said in a thread is answered in order
had = {}  # ids of deliveries: Slack sends again what is not taken within three seconds


def signed(headers, body):
    stamp, signature = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not stamp.isdigit() or abs(time.time() - int(stamp)) > 300:
        return False
    mac = hmac.new(os.environ["SLACK_SIGNING_SECRET"].encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
    return hmac.compare_digest("v0=" + mac.hexdigest(), signature)


def answer(event):
    thread = event.get("thread_ts") or event["ts"]
    try:
        text = manus.say(f"{event['channel']} {thread}", event["ts"], re.sub(r"<@\w+>", "", event["text"]).strip())
    except OSError as e:
        text = f"The server did not take that: {e}"
    for part in openmanus.parts(text):
        request = urllib.request.Request(
            API + "/chat.postMessage", json.dumps({"channel": event["channel"], "thread_ts": thread, "text": part}).encode(),
            {"Content-Type": "application/json; charset=utf-8", "Authorization": "Bearer " + os.environ["SLACK_TOKEN"]})
        with urllib.request.urlopen(request, timeout=30) as response:
            said = json.loads(response.read())
        if not said.get("ok"):
            print("Slack refuses an answer:", said.get("error"))


class Events(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
        if not signed(self.headers, body):
            self.send_error(401)
            return
        said = json.loads(body)
        reply = said.get("challenge", "").encode()
        event = said.get("event", {})
        wanted = event.get("type") in ("app_mention", "message") and event.get("user") in USERS and not event.get("bot_id")
        if wanted and event.get("text") and (event["channel"], event["ts"]) not in had:  # a mention comes as a message, too
            had[event["channel"], event["ts"]] = True
            if len(had) > 10000:
                had.pop(next(iter(had)))
            thread = event.get("thread_ts") or event["ts"]
            threads.setdefault(thread, concurrent.futures.ThreadPoolExecutor(1)).submit(answer, event)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *a):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8421"))), Events).serve_forever()
