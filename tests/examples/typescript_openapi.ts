// The types that openapi-typescript generates, with the client openapi-fetch
//
//   npm install openapi-typescript openapi-fetch typescript@5
//   npx openapi-typescript http://127.0.0.1:8080/openapi.json --output schema.ts
//   npx tsc --module nodenext --target es2022 --strict --skipLibCheck typescript_openapi.ts
//   PINAKES=http://127.0.0.1:8080 node typescript_openapi.js
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { env: Record<string, string | undefined> };

const client = createClient<paths>({ baseUrl: process.env.PINAKES ?? "http://127.0.0.1:8080" });

// ---- A page of a list: parameters and members are typed ----
const query = { filter: "type:article,year:>2000", sort: "cited_by_count:desc", per_page: 10 } as const;
const { data, error } = await client.GET("/outputs", { params: { query } });
if (error) throw new Error(error.message);
// With `select`, `group_by` or `format` a list has another type.
const page = data as components["schemas"]["OutputPage"];
for (const { id, year, cited_by_count, name } of page.results) {
  console.log(id, year, cited_by_count, name);
}
console.log("works", page.meta.count);

// ---- A record, by its id ----
const id = page.results[0]!.id;
const record = await client.GET("/outputs/{id}", { params: { path: { id } } });
// With `format` an output has another type.
const output = record.data as components["schemas"]["Output"];
console.log("authors", output.authors?.length);

// ---- A refused request says what is wrong ----
const refused = await client.GET("/outputs", { params: { query: { filter: "publication_year:2020" } } });
if (refused.error && "details" in refused.error) console.log(refused.error.details?.[0]?.reason);
