// A whole session through the client that openapi-typescript and openapi-fetch make of the
// description: every path, parameter, body and answer is checked by the compiler.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Session = components["schemas"]["Session"];

export async function session(baseUrl: string, token: string): Promise<number> {
  let count = 0;
  const check = (ok: unknown, what?: unknown) => {
    if (!ok) throw new Error("it is not as it should be: " + JSON.stringify(what));
    count++;
  };
  const client = createClient<paths>({ baseUrl, headers: { Authorization: "Bearer " + token } });
  const one = (id: string, path: string) => ({ params: { path: { id, path } } });

  const made = await client.POST("/api/v1/sessions", { body: { approve: "ask", limits: { steps: 9 } } });
  check(made.response.status === 201 && made.data, made.error);
  const id = made.data!.id, of = { params: { path: { id } } };

  // A file goes in: its name has a slash, a space, a percent sign and an umlaut.
  const name = "in/größe 50%.txt";
  const put = await client.PUT("/api/v1/sessions/{id}/files/{path}", {
    ...one(id, name), body: "six words", bodySerializer: (x: unknown) => x as string,
    headers: { "Content-Type": "application/octet-stream" },
  });
  check(put.response.status === 204, put.error);
  const listed = await client.GET("/api/v1/sessions/{id}/files", of);
  check(listed.data?.items?.some((f) => f.path === name && f.bytes === 9), listed.data);

  const said = await client.POST("/api/v1/sessions/{id}/messages", { ...of, body: { id: "m1", text: "touch a file" } });
  check(said.response.status === 202 && said.data!.seq > 0, said.error);
  const again = await client.POST("/api/v1/sessions/{id}/messages", { ...of, body: { id: "m1", text: "touch a file" } });
  check(again.data?.seq === said.data!.seq, again);
  const other = await client.POST("/api/v1/sessions/{id}/messages", { ...of, body: { id: "m1", text: "another" } });
  check(other.response.status === 409 && other.error?.detail, other);

  // Its events, until a call asks; then the approval; then the rest from where it was.
  let at = 0;
  const follow = async (until: string): Promise<string[]> => {
    const types: string[] = [];
    const got = await client.GET("/api/v1/sessions/{id}/events", {
      params: { path: { id }, query: { after: at } }, parseAs: "stream",
    });
    const reader = got.response.body!.getReader();
    const decoder = new TextDecoder();
    for (let text = ""; ; ) {
      const piece = await reader.read();
      if (piece.done) throw new Error(`the stream ended before ${until}: ${types}`);
      text += decoder.decode(piece.value, { stream: true });
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const frame = text.slice(0, end), type = /^event: (.*)$/m.exec(frame)?.[1];
        const seq = /^id: (.*)$/m.exec(frame)?.[1];
        if (!type || !seq) continue; // a comment, or a piece of what comes whole later
        if (Number(seq) !== at + 1) throw new Error(`event ${seq} comes after ${at}`);
        at = Number(seq);
        types.push(type);
        if (type === until) {
          await reader.cancel();
          return types;
        }
      }
    }
  };
  check((await follow("asked")).includes("user_said"));
  const waits: Session = (await client.GET("/api/v1/sessions/{id}", of)).data!;
  const call = waits.waiting![0]!;
  check(call.tool === "bash" && call.input, waits);
  const none = await client.POST("/api/v1/sessions/{id}/rulings", { ...of, body: { call: "c9-9", allow: true } });
  check(none.response.status === 404 && none.error?.errors?.[0]?.location === "body.call", none);
  const ruled = await client.POST("/api/v1/sessions/{id}/rulings", { ...of, body: { call: call.call, allow: true } });
  check(ruled.response.status === 202, ruled.error);
  check((await follow("model_said")).includes("ruled"));
  const done = (await client.GET("/api/v1/sessions/{id}", { params: { path: { id }, query: { wait: 60 } } })).data!;
  check(done.status === "finished" && done.answer === "The file is there.", done);

  // What it made, which is empty, and what went in.
  const result = await client.GET("/api/v1/sessions/{id}/files/{path}", { ...one(id, "there.txt"), parseAs: "text" });
  check(result.response.status === 200 && !result.data, result);
  const back = await client.GET("/api/v1/sessions/{id}/files/{path}", { ...one(id, name), parseAs: "text" });
  check(back.data === "six words", back);

  const gone = await client.DELETE("/api/v1/sessions/{id}", of);
  check(gone.response.status === 204, gone.error);
  const after = await client.GET("/api/v1/sessions/{id}", of);
  check(after.response.status === 404 && after.error?.status === 404, after);
  return count;
}
