// The client that openapi-typescript and openapi-fetch make of the description, compiled by
// TypeScript with every check on, through a whole session: openapi_session.ts.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync, cpSync, symlinkSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { OPENMANUS_URL: url, OPENMANUS_TOKEN: token } = process.env;
const bin = (name) => resolve("node_modules/.bin", name);
const doc = await fetch(url + "/api/v1/openapi.json", { headers: { Authorization: "Bearer " + token } });
mkdirSync("generated/ts", { recursive: true });
symlinkSync(resolve("node_modules"), "generated/ts/node_modules");
writeFileSync("generated/ts/openapi.json", await doc.text());
writeFileSync("generated/ts/package.json", '{"type": "module"}');
cpSync("openapi_session.ts", "generated/ts/session.ts");
execFileSync(bin("openapi-typescript"), ["openapi.json", "-o", "schema.d.ts"], { cwd: "generated/ts" });
writeFileSync("generated/ts/tsconfig.json", JSON.stringify({
  compilerOptions: { strict: true, noUncheckedIndexedAccess: true, target: "es2022", lib: ["es2022", "dom", "dom.iterable"], module: "nodenext", types: [] },
  files: ["session.ts"],
}));
execFileSync(bin("tsc"), ["-p", "."], { cwd: "generated/ts", stdio: ["ignore", "inherit", "inherit"] });
const { session } = await import(pathToFileURL(resolve("generated/ts/session.js")).href);
console.log(`openapi-typescript, openapi-fetch: ${await session(url, token)} checks`);
process.exit(0); // also with a stream that was left
