"""Talk with OpenManus in Telegram: python3 telegram.py

TELEGRAM_TOKEN    the token of your bot
TELEGRAM_USERS    the numbers of the users who may talk with it, separated by commas; others are not answered
OPENMANUS_URL, OPENMANUS_TOKEN    your server and your token there
"""
import concurrent.futures
import json
import os
import time
import urllib.error
import urllib.request

import openmanus

API = os.environ.get("TELEGRAM_API", "https://api.telegram.org") + "/bot" + os.environ["TELEGRAM_TOKEN"]
USERS = {int(u) for u in os.environ["TELEGRAM_USERS"].split(",")}
manus = openmanus.from_environment("telegram.json")


def api(method, **fields):
    request = urllib.request.Request(f"{API}/{method}", json.dumps(fields).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=90) as response:
        return json.loads(response.read())["result"]


def answer(message):
    chat = message["chat"]["id"]
    try:
        text = manus.say(str(chat), message["message_id"], message["text"])
    except OSError as e:
        text = f"The server did not take that: {e}"
    for part in openmanus.parts(text):
        api("sendMessage", chat_id=chat, text=part)


def main():
    after = 0
    chats = {}  # what a chat says is answered in order
    while True:
        try:
            updates = api("getUpdates", offset=after, timeout=50)
        except OSError as e:
            print("Telegram does not answer:", e)
            time.sleep(5)
            continue
        for update in updates:
            after = update["update_id"] + 1
            message = update.get("message", {})
            if message.get("from", {}).get("id") in USERS and message.get("text"):
                one = chats.setdefault(message["chat"]["id"], concurrent.futures.ThreadPoolExecutor(1))
                one.submit(answer, message)


if __name__ == "__main__":
    main()
