// redocly lint on the description: no error and no warning.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const { OPENMANUS_URL: url, OPENMANUS_TOKEN: token } = process.env;
const doc = await fetch(url + "/api/v1/openapi.json", { headers: { Authorization: "Bearer " + token } });
writeFileSync("described.json", await doc.text());
const out = execFileSync("node_modules/.bin/redocly", ["lint", "--format", "json", "described.json"], {
  env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }, stdio: ["ignore", "pipe", "ignore"],
});
const { totals, version } = JSON.parse(out.toString().slice(out.toString().indexOf("{")));
assert.deepEqual([totals.errors, totals.warnings], [0, 0]);
console.log(`redocly ${version}: ${totals.errors} errors, ${totals.warnings} warnings`);
