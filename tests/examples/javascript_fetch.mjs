// The coauthors of an author, with fetch
//
// Run it in Node.js 18 or later, Deno or a browser: PINAKES=http://127.0.0.1:8080 node javascript_fetch.mjs
// Browsers of any page may ask: the server sends Access-Control-Allow-Origin: *.

const base = globalThis.process?.env.PINAKES ?? "http://127.0.0.1:8080";

// Reads one reply. The server says what is wrong with a request.
async function get(path, parameters = {}) {
  const reply = await fetch(`${base}${path}?${new URLSearchParams(parameters)}`);
  const body = await reply.json();
  if (!reply.ok) throw new Error(`${reply.url}: ${JSON.stringify(body.details ?? body.message)}`);
  return body;
}

// ---- An author by name ----
const [author] = (await get("/autocomplete/authors", { query: "albert ein" })).results;
if (!author) throw new Error("this server knows no such author; ask for another");
console.log(author.id, author.name);

// ---- Coauthors, counted by the server ----
const filter = `authors.id:${author.id}`;
const { group_by: groups } = await get("/outputs", { filter, group_by: "authors.id", per_page: 10 });
for (const { key, key_display_name: name, count } of groups) {
  if (key !== author.id) console.log(key, name, count);
}

// ---- Titles and topics in one request, with GraphQL ----
const reply = await fetch(`${base}/graphql`, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({
    query: `query Works($id: ID!) {
      author(id: $id) { name outputs(per_page: 25) { meta { count } results { name year } } }
    }`,
    variables: { id: author.id },
  }),
});
const { data, errors } = await reply.json();
if (errors) throw new Error(errors.map((error) => error.message).join("; "));
for (const { name, year } of data.author.outputs.results) console.log(year, name);
console.log("works", data.author.outputs.meta.count);

const own = groups.find(({ key }) => key === author.id);
if ((own?.count ?? 0) !== data.author.outputs.meta.count) throw new Error("the counts differ");
