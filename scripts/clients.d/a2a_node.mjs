// The SDK of A2A for JavaScript, on both bindings: a task with an approval in it, a stream
// that breaks off, a task that is cancelled, and the protocol's errors.
import { ListTasksRequest, SendMessageRequest, TaskState } from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { randomUUID } from "node:crypto";

let checks = 0;
function check(ok, what) {
  if (!ok) throw new Error(JSON.stringify(what));
  checks++;
}

const headers = { Authorization: `Bearer ${process.env.OPENMANUS_TOKEN}` };
const fetchImpl = (url, init = {}) => fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } });

function say(text, task) {
  const about = task ? { taskId: task.id, contextId: task.contextId } : {};
  return SendMessageRequest.fromJSON({ message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...about } });
}
const texts = (task) => task.artifacts.flatMap((a) => a.parts).map((p) => (p.content?.$case === "text" ? p.content.value : "")).join("");
const stateOf = ({ payload }) => (payload.$case === "task" || payload.$case === "statusUpdate" ? payload.value.status.state : undefined);

async function session(client) {
  // A question, and its answer, as a stream.
  let task;
  const states = [];
  for await (const e of client.sendMessageStream(say("please touch a file"))) {
    if (e.payload.$case === "task") task = e.payload.value;
    states.push(stateOf(e));
  }
  check(states.at(-1) === TaskState.TASK_STATE_INPUT_REQUIRED, states);
  const after = [];
  for await (const e of client.sendMessageStream(say("yes", task))) after.push(stateOf(e));
  check(after.includes(TaskState.TASK_STATE_COMPLETED), after);
  const done = await client.getTask({ id: task.id });
  check(done.status.state === TaskState.TASK_STATE_COMPLETED && texts(done).includes("The file is there."), done);

  // A stream that breaks off is taken up again.
  let broken;
  for await (const e of client.sendMessageStream(say("please touch a file"))) {
    broken = e.payload.value;
    break;
  }
  let asked = false;
  for await (const e of client.resubscribeTask({ id: broken.id })) {
    if (stateOf(e) === TaskState.TASK_STATE_INPUT_REQUIRED) {
      asked = true;
      break;
    }
  }
  check(asked, broken);
  const gone = await client.cancelTask({ id: broken.id });
  check(gone.status.state === TaskState.TASK_STATE_CANCELED, gone);

  // Without a stream.
  const hello = await client.sendMessage(say("say hello"));
  const whole = await client.getTask({ id: hello.id });
  check(texts(whole).trim() === "Hello from the agent.", whole);
  const listed = await client.listTasks(ListTasksRequest.fromJSON({ contextId: hello.contextId }));
  check(listed.tasks.length === 1 && listed.tasks[0].id === hello.id, listed);

  for (const [act, name] of [
    [() => client.getTask({ id: "nobody" }), "TaskNotFoundError"],
    [() => client.cancelTask({ id: whole.id }), "TaskNotCancelableError"],
  ]) {
    const wrong = await act().then(() => undefined, (e) => e);
    check(wrong?.name === name, String(wrong));
  }
}

for (const [binding, Transport] of [["JSONRPC", JsonRpcTransportFactory], ["HTTP+JSON", RestTransportFactory]]) {
  const factory = new ClientFactory({
    transports: [new Transport({ fetchImpl })], preferredTransports: [binding], cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  await session(await factory.createFromUrl(process.env.OPENMANUS_URL));
}
console.log(`@a2a-js/sdk: ${checks} checks, on both bindings`);
