// Answers requests as a site does, under Node. Usage:
//   node site.mjs PINAKES_JS MODULE_GZ URL [KEY]
// Each line of standard input is a request {method, target, headers, body}, with the body in Base64, or a word: after "fresh", the
// next request begins with what is kept, the publication that was seen; after "keep", all that is read is kept from then on. Each
// line of standard output is a reply of the same form.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

const [library, packed, url, ...keys] = process.argv.slice(2);
const { open } = await import(pathToFileURL(library));
const module = new WebAssembly.Module(gunzipSync(readFileSync(packed)));

async function answer(site, asked) {
    const body = asked.body && Buffer.from(asked.body, "base64");
    const reply = await site.answer({ ...asked, body });
    const bytes = Buffer.from(await new Response(reply.body).arrayBuffer());
    return { ...reply, body: bytes.toString("base64") };
}

/** Keeps the publication, and after the word "keep" everything that is read. */
const seen = new Map();
let keepsAll = false;
const kept = {
    names: () => seen.keys(),
    get: async (name) => seen.get(name),
    put: async (name, bytes) => (keepsAll || name.startsWith("publication.json")) && seen.set(name, bytes),
};

let site;
for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    let reply;
    try {
        if (asked === "fresh" || asked === "keep") {
            keepsAll ||= asked === "keep";
            site = undefined;
            continue;
        }
        site ??= await open(url, { module, keys, kept });
        reply = await answer(site, asked);
    } catch (error) {
        reply = { error: `${error}` };
    }
    process.stdout.write(`${JSON.stringify(reply)}\n`);
}
