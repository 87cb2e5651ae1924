"""The Python SDK of A2A, on both bindings: a task with an approval in it, a stream that breaks
off, a task that is cancelled, a list, and errors."""
import asyncio
import uuid

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)

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
        done, _, _ = await last(client.send_message(say("say hello")))
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


for binding in ("JSONRPC", "HTTP+JSON"):
    for streaming in (True, False):
        asyncio.run(session(binding, streaming))
print(f"a2a-sdk: {c.count} checks, on both bindings")
