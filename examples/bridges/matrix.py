"""Talk with OpenManus in rooms of Matrix that are not encrypted: python3 matrix.py

MATRIX_URL, MATRIX_TOKEN    your homeserver, and the access token of the bot's account
MATRIX_USERS                who may talk with it: @ann:example.org,…; others are not answered
OPENMANUS_URL, OPENMANUS_TOKEN    your server and your token there
"""
import concurrent.futures
import json
import os
import time
import urllib.parse
import urllib.request

import openmanus

USERS = set(os.environ["MATRIX_USERS"].split(","))
manus = openmanus.from_environment("matrix.json")


def api(method, path, body=None):
    request = urllib.request.Request(
        os.environ["MATRIX_URL"].rstrip("/") + "/_matrix/client/v3" + path, method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["MATRIX_TOKEN"], "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=90) as response:
        return json.loads(response.read())


def answer(room, event):
    try:
        text = manus.say(room, event["event_id"], event["content"]["body"])
    except OSError as e:
        text = f"The server did not take that: {e}"
    # The transaction is named after the event: what is sent twice stands in the room once.
    for n, part in enumerate(openmanus.parts(text)):
        at = "/rooms/%s/send/m.room.message/%s-%d" % (urllib.parse.quote(room), urllib.parse.quote(event["event_id"], safe=""), n)
        api("PUT", at, {"msgtype": "m.notice", "body": part})


def main():
    since = api("GET", "/sync?timeout=0")["next_batch"]  # what was said before is not answered
    rooms = {}
    while True:
        try:
            news = api("GET", f"/sync?timeout=50000&since={urllib.parse.quote(since)}")
        except OSError as e:
            print("the homeserver does not answer:", e)
            time.sleep(5)
            continue
        since = news["next_batch"]
        for room in news.get("rooms", {}).get("invite", {}):
            api("POST", f"/join/{urllib.parse.quote(room)}", {})
        for room, what in news.get("rooms", {}).get("join", {}).items():
            for event in what.get("timeline", {}).get("events", []):
                if event["type"] == "m.room.message" and event["sender"] in USERS and event["content"].get("msgtype") == "m.text":
                    rooms.setdefault(room, concurrent.futures.ThreadPoolExecutor(1)).submit(answer, room, event)


if __name__ == "__main__":
    main()
