// OpenAI's own client for Node: chat completions, responses, errors.
import assert from "node:assert/strict";
import OpenAI from "openai";

const { OPENMANUS_URL: url, OPENMANUS_TOKEN: apiKey } = process.env;
const client = new OpenAI({ baseURL: url + "/v1", apiKey });
let count = 0;
const check = (ok, what) => { assert.ok(ok, JSON.stringify(what)); count++; };
const ask = (content, more = {}) => client.chat.completions.create({ model: "manus", messages: [{ role: "user", content }], ...more });
const fails = async (status, promise, param) => {
  const e = await promise.then(() => assert.fail("no error"), (e) => e);
  assert.equal(e.status, status, String(e));
  if (param) assert.equal(e.param, param);
  check(!/no body/.test(e.message), e.message);
};

check((await ask("say hello")).choices[0].message.content === "Hello from the agent.");
const streamed = await client.chat.completions.stream({ model: "manus", messages: [{ role: "user", content: "look around" }] }).finalChatCompletion();
check(streamed.choices[0].message.content === "First I look.\n\nI have looked around.", streamed);

const asked = [];
const runner = client.chat.completions.runTools({
  model: "manus",
  messages: [{ role: "user", content: "weather?" }],
  tools: [{ type: "function", function: {
    name: "get_weather", description: "The weather.", parse: JSON.parse,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    function: ({ city }) => { asked.push(city); return "20 degrees in " + city; },
  } }],
});
check(/two results/.test(await runner.finalContent()));
check(asked.sort().join() === "Paris,Rome", asked);

const schema = { type: "object", properties: { city: { type: "string" }, degrees: { type: "integer" } }, required: ["city", "degrees"], additionalProperties: false };
const formed = await client.chat.completions.parse({ model: "manus", messages: [{ role: "user", content: "who?" }],
  response_format: { type: "json_schema", json_schema: { name: "w", strict: true, schema } } });
check(formed.choices[0].message.parsed.degrees === 21, formed);

const first = await client.responses.create({ model: "manus", input: "say hello", instructions: "Be kind." });
check(first.output_text === "Hello from the agent.", first);
const kinds = [];
for await (const e of await client.responses.create({ model: "manus", input: "look around", stream: true })) kinds.push(e.type);
check(kinds[0] === "response.created" && kinds.at(-1) === "response.completed", kinds);
const final = await client.responses.stream({ model: "manus", input: "look around" }).finalResponse();
check(/looked around/.test(final.output_text), final);
check((await client.responses.retrieve(first.id)).output_text === first.output_text);

const gone = new AbortController();
const cut = await client.chat.completions.create({ model: "manus", messages: [{ role: "user", content: "count" }], stream: true }, { signal: gone.signal });
for await (const _ of cut) gone.abort();
count++;

check((await client.models.list()).data.some((m) => m.id === "manus"));
await fails(401, new OpenAI({ baseURL: url + "/v1", apiKey: "wrong-wrong-wrong" }).models.list());
await fails(404, ask("hi", { model: "nobody" }), "model");
await fails(400, ask("hi", { n: 2 }), "n");
await fails(500, ask("fail after work"));
console.log(`openai for Node: ${count} checks`);
