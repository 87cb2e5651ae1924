// What the server's API sends and takes: generated from its description, docs/openapi.json, by npm run types.

import type { components } from "./schema";

/** Lists of the API are never null, though its description allows it. */
type Listed<T> = T extends (infer E)[]
  ? Listed<E>[]
  : T extends object
    ? { [K in keyof T]: unknown extends T[K] ? T[K] : [Extract<T[K], unknown[]>] extends [never] ? Listed<T[K]> : Listed<Exclude<T[K], null>> }
    : T;

export type Schemas = { [K in keyof components["schemas"]]: Listed<components["schemas"][K]> };
