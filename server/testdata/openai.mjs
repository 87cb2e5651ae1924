// The official client of OpenAI against a server whose agent says back what it
// is told. Arguments: base URL, token. The client is found in $OPENMANUS_MODULES.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.OPENMANUS_MODULES, "x.js"));
const OpenAI = require("openai").default ?? require("openai");
const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

const models = await client.models.list();
assert.deepEqual(models.data.map((m) => m.id), ["manus"]);

const ask = { model: "manus", messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "say one two" }] };
const whole = await client.chat.completions.create(ask);
assert.match(whole.choices[0].message.content, /one two/);
assert.match(whole.choices[0].message.content, /Be brief/); // what came before is told
assert.equal(whole.choices[0].finish_reason, "stop");
assert.ok(whole.usage.total_tokens >= 0);

let text = "", end, usage;
const stream = await client.chat.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } });
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta.content ?? "";
  end ??= chunk.choices[0]?.finish_reason;
  usage ??= chunk.usage;
}
assert.match(text, /one two/);
assert.equal(end, "stop");
assert.ok(usage);

// A session that is named goes on.
const { data, response } = await client.chat.completions.create(ask).withResponse();
const session = response.headers.get("openmanus-session");
const more = await client.chat.completions.create({ model: "manus", messages: [{ role: "user", content: "three" }] }, { headers: { "OpenManus-Session": session } }).withResponse();
assert.equal(more.response.headers.get("openmanus-session"), session);
assert.ok(data.id !== more.data.id);

const first = await client.responses.create({ model: "manus", instructions: "Be kind.", input: "say four five" });
assert.match(first.output_text, /four five/);
assert.equal(first.status, "completed");
const second = await client.responses.create({ model: "manus", input: [{ role: "user", content: [{ type: "input_text", text: "and six" }] }], previous_response_id: first.id });
assert.match(second.output_text, /and six/);
assert.equal(second.metadata.session, first.metadata.session);

const kinds = [];
let said = "";
for await (const ev of await client.responses.create({ model: "manus", input: "say seven", stream: true })) {
  kinds.push(ev.type);
  if (ev.type === "response.output_text.delta") said += ev.delta;
}
assert.match(said, /seven/);
assert.equal(kinds[0], "response.created");
assert.equal(kinds.at(-1), "response.completed");

// What streams through the client's own accumulator is the same.
const final = await client.responses.stream({ model: "manus", input: "say eight" }).finalResponse();
assert.match(final.output_text, /eight/);
const helper = await client.chat.completions.stream({ model: "manus", messages: [{ role: "user", content: "say nine" }] }).finalChatCompletion();
assert.match(helper.choices[0].message.content, /nine/);

await assert.rejects(client.chat.completions.create({ ...ask, model: "nobody" }), (e) => e.status === 400 && /model/.test(e.message));
await assert.rejects(new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 }).models.list(), (e) => e.status === 401);
console.log("ok");
