"""What Standard Webhooks, Slack, Stripe and GitHub sign with their own libraries begins a task,
once; what is forged or replayed begins none."""
import hashlib
import hmac
import json
import os
import time
from datetime import datetime, timedelta, timezone

import httpx
import stripe
from slack_sdk.signature import SignatureVerifier
from standardwebhooks.webhooks import Webhook

import check as c
from check import TOKEN, URL, check

SECRET = os.environ["TRIGGER_SECRET"]
http = httpx.Client(base_url=URL, timeout=60)


def github(body, at):
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body.encode(), hashlib.sha256).hexdigest()}


def gitlab(body, at):
    return {"X-Gitlab-Token": SECRET}


def slack(body, at):
    stamp = str(int(at.timestamp()))
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": SignatureVerifier(SECRET).generate_signature(timestamp=stamp, body=body)}


def standard(body, at):
    id = "msg_" + hashlib.sha256(body.encode()).hexdigest()[:12]
    return {"webhook-id": id, "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": Webhook(SECRET).sign(id, at, body)}


def stripe_(body, at):
    stamp = int(at.timestamp())
    return {"Stripe-Signature": f"t={stamp},v1=" + stripe.WebhookSignature._compute_signature(f"{stamp}.{body}", SECRET)}


def post(kind, body, headers):
    return http.post(f"/api/v1/triggers/{kind}", content=body, headers={"Content-Type": "application/json", **headers})


now = datetime.now(timezone.utc)
for kind, sign in {"github": github, "gitlab": gitlab, "slack": slack, "standard": standard, "stripe": stripe_}.items():
    body = json.dumps({"text": "touch a file", "for": kind, "at": time.time()})
    first = post(kind, body, sign(body, now))
    check(first.status_code == 202, first.text)
    session = first.json()["session"]
    again = post(kind, body, sign(body, now + timedelta(seconds=1)))
    check(again.status_code == 202 and again.json()["session"] == session, again.text)
    user = {"Authorization": f"Bearer {TOKEN}"}
    s = http.get(f"/api/v1/sessions/{session}", params={"wait": 30}, headers=user).json()
    check(s["status"] == "waiting" and s["title"].startswith("please touch a file"), s)  # nobody has approved the command
    other = body.replace("touch", "erase")
    if kind != "gitlab":  # which signs nothing
        check(post(kind, other, sign(body, now)).status_code == 401, "another body")
    if kind not in ("github", "gitlab"):
        for at in (now - timedelta(hours=1), now + timedelta(hours=1)):
            check(post(kind, other, sign(other, at)).status_code == 401, "another time")
    check(post(kind, other, {}).status_code == 401, "no signature")
    of = standard if kind != "standard" else stripe_
    check(post(kind, other, of(other, now)).status_code == 401, "a signature of another kind")

print(f"signatures by standardwebhooks, slack_sdk and stripe: {c.count} checks")
