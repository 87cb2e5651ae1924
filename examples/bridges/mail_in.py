"""Give OpenManus tasks by mail. Your server of mail runs this for each message, as in an alias:

    agent: "|/usr/bin/env … python3 /opt/openmanus/mail_in.py"

The answer is mailed back; a reply in the same thread goes on with the session.

MAIL_USERS     the addresses that may write, separated by commas
MAIL_CHECKED   the name under which your server of mail writes Authentication-Results: only a message of which it says there
               that DKIM or SPF passed, for the sender's domain, is believed. A From: alone can be anybody's.
MAIL_FROM      the address that answers come from
SMTP           HOST:PORT that takes mail without a sign-in; default localhost:25
OPENMANUS_URL, OPENMANUS_TOKEN    your server and your token there
"""
import email
import email.message
import email.policy
import email.utils
import os
import re
import smtplib
import sys

import openmanus


def checked(message, domain):
    """Whether our own server says that the sender's domain sent this. It puts its header first."""
    said = (message.get_all("Authentication-Results") or [""])[0]
    server, _, results = said.partition(";")
    if server.split()[:1] != [os.environ["MAIL_CHECKED"]]:
        return False
    for result in results.split(";"):
        if re.search(r"\b(dkim|spf)=pass\b", result) and re.search(r"(header\.d=|header\.i=@|smtp\.mailfrom=(\S*@)?)" + re.escape(domain) + r"(\s|$)", result):
            return True
    return False


def main():
    message = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
    sender = email.utils.parseaddr(str(message["From"]))[1].lower()
    if message.get("Auto-Submitted", "no") != "no":
        return  # programs that answer each other would not stop
    if sender not in os.environ["MAIL_USERS"].lower().split(",") or not checked(message, sender.partition("@")[2]):
        print(f"a message of {sender!r} is not answered: who sent it is not known", file=sys.stderr)
        return
    body = message.get_body(("plain", "html"))
    lines = (body.get_content() if body else "").splitlines()
    text = "\n".join(line for line in lines if not line.startswith(">")).strip()  # without what it quotes
    before = (message.get("References", "") + " " + message.get("In-Reply-To", "")).split()
    id = message["Message-ID"] or email.utils.make_msgid()
    thread = before[0] if before else id
    manus = openmanus.from_environment(os.path.expanduser("~/mail.json"))
    said = manus.say(f"{sender} {thread}", id, f"{message['Subject']}\n\n{text}" if not before else text)
    reply = email.message.EmailMessage()
    reply["From"], reply["To"] = os.environ["MAIL_FROM"], sender
    subject = str(message["Subject"] or "")
    reply["Subject"] = subject if subject.lower().startswith("re:") else "Re: " + subject
    reply["In-Reply-To"], reply["References"] = id, " ".join([*before, id])
    reply["Message-ID"] = "<answer." + id.strip("<>")  # the same if this runs again
    reply["Auto-Submitted"] = "auto-replied"
    reply.set_content(said)
    host, _, port = os.environ.get("SMTP", "localhost:25").partition(":")
    with smtplib.SMTP(host, int(port)) as smtp:
        smtp.send_message(reply)


if __name__ == "__main__":
    main()
