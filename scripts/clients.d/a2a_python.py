"""The Python SDK of A2A, on both bindings: a task with an approval in it, a stream that breaks
off, a task that is cancelled, a list, errors, the words of a reply, tasks that are posted to an
address, and a card that is signed."""
import asyncio
import http.server
import os
import queue
import re
import socket
import subprocess
import tempfile
import threading
import uuid

import httpx
import jwt
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SendMessageConfiguration,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import Parse

import check as c
from check import TOKEN, URL, check


def say(text, task=None):
    m = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    if task is not None:
        m.task_id, m.context_id = task.id, task.context_id
    return SendMessageRequest(message=m)


async def last(events):
    """Returns the task as a stream leaves it, and its states and texts."""
    task, states, texts = None, [], []
    async for e in events:
        if e.HasField("task"):
            task = e.task
            states.append(task.status.state)
        elif e.HasField("status_update"):
            states.append(e.status_update.status.state)
            if task is not None:
                task.status.CopyFrom(e.status_update.status)
        elif e.HasField("artifact_update"):
            texts += [p.text for p in e.artifact_update.artifact.parts]
    return task, states, texts


def texts(task):
    return "".join(p.text for a in task.artifacts for p in a.parts)


async def session(binding, streaming):
    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
    factory = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding], use_client_preference=True))
    async with await factory.create_from_url(URL) as client:
        # A question, and its answer: the task goes on with the words of a message.
        task, states, _ = await last(client.send_message(say("please touch a file")))
        task = await client.get_task(GetTaskRequest(id=task.id))
        check(task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, task)
        check("bash" in "".join(p.text for p in task.status.message.parts), task.status)
        _, states, _ = await last(client.send_message(say("yes", task)))
        task = await client.get_task(GetTaskRequest(id=task.id))
        check(task.status.state == TaskState.TASK_STATE_COMPLETED, task)
        check("The file is there." in texts(task), task)
        if streaming:
            check(TaskState.TASK_STATE_COMPLETED in states, states)
            check(len(states) > 1, states)

        # What was said is in the history.
        task = await client.get_task(GetTaskRequest(id=task.id, history_length=50))
        said = ["".join(p.text for p in m.parts) for m in task.history]
        check(said == ["please touch a file", "approved", "The file is there."], said)

        # A stream that breaks off is taken up again, and a question that waits is there.
        if streaming:
            stream = client.send_message(say("please touch a file"))
            first = await anext(stream)
            await stream.aclose()
            again = client.subscribe(SubscribeToTaskRequest(id=first.task.id))
            async for e in again:
                state = e.task.status.state if e.HasField("task") else e.status_update.status.state if e.HasField("status_update") else None
                if state == TaskState.TASK_STATE_INPUT_REQUIRED:
                    check(True)
                    break
            else:
                raise AssertionError("the stream ended without the question")
            waiting = first.task
        else:
            waiting, _, _ = await last(client.send_message(say("please touch a file")))
        gone = await client.cancel_task(CancelTaskRequest(id=waiting.id))
        check(gone.status.state == TaskState.TASK_STATE_CANCELED, gone)

        # A follow-up in the same context is a task of its own.
        done, _, words = await last(client.send_message(say("say hello")))
        if streaming:  # the words as they are written, unless all were before the stream began, then the whole answer
            check("".join(words[:-1]) in ("", "Hello from the agent.") and words[-1] == "Hello from the agent.", words)
        done = await client.get_task(GetTaskRequest(id=done.id))
        check(texts(done).strip() == "Hello from the agent.", done)
        more = say("say hello")
        more.message.context_id = done.context_id
        next_one, _, _ = await last(client.send_message(more))
        check(next_one.context_id == done.context_id and next_one.id != done.id, next_one)

        listed = await client.list_tasks(ListTasksRequest(context_id=done.context_id))
        check({t.id for t in listed.tasks} == {done.id, next_one.id}, listed)
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
        check(card.name == "OpenManus" and card.skills, card)

        # Errors are the protocol's own.
        for act in (
            lambda: client.get_task(GetTaskRequest(id="nobody")),
            lambda: client.cancel_task(CancelTaskRequest(id=done.id)),
        ):
            try:
                got = await act()
            except Exception as e:  # of the kind that the SDK makes of the protocol's errors
                check(type(e).__name__ in ("TaskNotFoundError", "TaskNotCancelableError"), repr(e))
            else:
                raise AssertionError(f"no error: {got!r}")
    await http.aclose()


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes what is posted to it, but not the first time."""

    came, refused = queue.Queue(), []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200 if self.refused else 503)
        self.end_headers()
        (self.came.put if self.refused else self.refused.append)((self.headers, body))

    def log_message(self, *_):
        pass


async def posted(url, token, receiver):
    """A task of a server that may post to the receiver, on both bindings."""
    http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    for binding in ("JSONRPC", "HTTP+JSON"):
        factory = ClientFactory(ClientConfig(streaming=False, httpx_client=http, supported_protocol_bindings=[binding], use_client_preference=True))
        async with await factory.create_from_url(url) as client:
            send = say("say hello")
            address = TaskPushNotificationConfig(id="mine", url=receiver, token="secret", authentication=AuthenticationInfo(scheme="Bearer", credentials="key"))
            send.configuration.CopyFrom(SendMessageConfiguration(task_push_notification_config=address))
            task, _, _ = await last(client.send_message(send))
            states, ids = [], []
            while TaskState.TASK_STATE_COMPLETED not in states:
                head, body = await asyncio.to_thread(Receiver.came.get, timeout=60)
                check(head["X-A2A-Notification-Token"] == "secret" and head["Authorization"] == "Bearer key", head)
                event = Parse(body, StreamResponse())
                ids.append(head["Idempotency-Key"])
                if event.HasField("status_update"):
                    check(event.status_update.task_id == task.id, event)
                    states.append(event.status_update.status.state)
            check(len(set(ids)) == len(ids) and Receiver.refused, ids)

            got = await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(task_id=task.id, id="mine"))
            check(got.url == receiver and got.task_id == task.id, got)
            address.task_id, address.id = task.id, "another"
            check((await client.create_task_push_notification_config(address)).id == "another")
            listed = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
            check({p.id for p in listed.configs} == {"mine", "another"}, listed)
            await client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="mine"))
            listed = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=task.id))
            check({p.id for p in listed.configs} == {"another"}, listed)
    await http.aclose()


async def signed(url):
    """The card says where its server is, and its signature holds; that of a forged one does not."""
    async with httpx.AsyncClient() as http:
        def key(kid, jku):
            check(jku == url + "/.well-known/jwks.json", jku)
            return next(jwt.PyJWK(k) for k in httpx.get(jku).json()["keys"] if k["kid"] == kid)

        holds = create_signature_verifier(key, ["ES256"])
        card = await A2ACardResolver(http, url).get_agent_card(signature_verifier=holds)
        check(all(i.url.startswith(url + "/a2a") for i in card.supported_interfaces) and card.capabilities.push_notifications, card)
        card.description = "Another."
        try:
            holds(card)
        except InvalidSignaturesError:
            check(True)
        else:
            raise AssertionError("the signature of a forged card holds")


def of_its_own(work):
    """Drives a server that has a public address and a key, and may post to a receiver."""
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:
        addr = f"127.0.0.1:{free.getsockname()[1]}"
    at = f"127.0.0.1:{receiver.server_port}"
    key = ec.generate_private_key(ec.SECP256R1())
    with open(f"{work}/key.pem", "wb") as f:
        f.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    env = {"OPENMANUS_SERVE_A2A": "true", "OPENMANUS_SERVE_A2A_KEY": f"{work}/key.pem", "OPENMANUS_WEB_HOSTS": at, "OPENMANUS_DATA_DIR": f"{work}/data"}
    model = "scripted:" + os.path.abspath("model.txtar")
    server = subprocess.Popen(
        [os.environ["OPENMANUS"], "serve", "--model", model, "--addr", addr, "--public", "http://" + addr],
        env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url, token = re.match(r"(.*)/\?token=(.*)", server.stdout.readline()).groups()
        asyncio.run(signed(url))
        asyncio.run(posted(url, token, f"http://{at}/hook"))
    finally:
        server.terminate()
        server.wait()
        receiver.shutdown()


for binding in ("JSONRPC", "HTTP+JSON"):
    for streaming in (True, False):
        asyncio.run(session(binding, streaming))
with tempfile.TemporaryDirectory() as directory:
    of_its_own(directory)
print(f"a2a-sdk: {c.count} checks, on both bindings")
