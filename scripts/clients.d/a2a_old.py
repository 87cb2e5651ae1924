"""The Python SDK of A2A 0.2.5, which OpenManus in Python is built with: the three lines that
ask an agent, and a task with an approval in it, a stream, a list of mistakes."""
import asyncio
import uuid

import httpx
from a2a.client import A2AClient
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    JSONRPCErrorResponse,
    MessageSendParams,
    SendMessageRequest,
    SendStreamingMessageRequest,
    TaskIdParams,
    TaskQueryParams,
    TaskState,
)

import check as c
from check import TOKEN, URL, check


def say(text, task=None, **configuration):
    m = {"messageId": uuid.uuid4().hex, "role": "user", "parts": [{"kind": "text", "text": text}]}
    if task is not None:
        m |= {"taskId": task.id, "contextId": task.contextId}
    params = {"message": m}
    if configuration:
        params["configuration"] = {"acceptedOutputModes": ["text"], **configuration}
    return MessageSendParams.model_validate(params)


def request(kind, params):
    return kind(id=uuid.uuid4().hex, params=params)


async def main():
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http:
        # The three lines.
        agent = await A2AClient.get_client_from_agent_card_url(http, URL)
        answer = await agent.send_message(request(SendMessageRequest, say("please touch a file")))
        task = answer.root.result

        check(task.kind == "task" and task.status.state == TaskState.input_required, task)
        check("touch there.txt" in task.status.message.parts[0].root.text, task.status)
        done = (await agent.send_message(request(SendMessageRequest, say("yes", task)))).root.result
        check(done.id == task.id and done.status.state == TaskState.completed, done)
        answers = [a for a in done.artifacts if a.name == "answer"]
        check("The file is there." in answers[0].parts[0].root.text, done.artifacts)
        got = (await agent.get_task(request(GetTaskRequest, TaskQueryParams(id=task.id, historyLength=1)))).root.result
        check(got.status.state == TaskState.completed and len(got.history) == 1, got)
        check([m.role.value for m in done.history if "touch" in m.parts[0].root.text] == ["user"], done.history)

        # It may go on in the background, and be cancelled.
        task = (await agent.send_message(request(SendMessageRequest, say("please touch a file", blocking=False)))).root.result
        check(task.status.state in (TaskState.submitted, TaskState.working), task)
        end = (await agent.cancel_task(request(CancelTaskRequest, TaskIdParams(id=task.id)))).root.result
        check(end.status.state == TaskState.canceled, end)

        # A stream.
        kinds, last = [], None
        async for e in agent.send_message_streaming(request(SendStreamingMessageRequest, say("please touch a file"))):
            last = e.root.result
            kinds.append(last.kind)
        check(kinds[0] == "task" and kinds[-1] == "status-update" and last.final, kinds)
        check(last.status.state == TaskState.input_required, last)
        task = last
        kinds = []
        again = say("yes")
        again.message.taskId, again.message.contextId = task.taskId, task.contextId
        async for e in agent.send_message_streaming(request(SendStreamingMessageRequest, again)):
            last = e.root.result
            kinds.append(last.kind)
        check("artifact-update" in kinds and last.final and last.status.state == TaskState.completed, kinds)

        # Mistakes are errors of the protocol.
        for code, wrong in {
            -32001: await agent.get_task(request(GetTaskRequest, TaskQueryParams(id="none"))),
            -32002: await agent.cancel_task(request(CancelTaskRequest, TaskIdParams(id=done.id))),
            -32003: await agent.send_message(request(SendMessageRequest, say("x", pushNotificationConfig={"url": "https://example.org"}))),
            -32602: await agent.send_message(request(SendMessageRequest, say("x", historyLength=-1))),
        }.items():
            check(isinstance(wrong.root, JSONRPCErrorResponse) and wrong.root.error.code == code, (code, wrong))


asyncio.run(main())
print(f"a2a-sdk 0.2.5: {c.count} checks")
