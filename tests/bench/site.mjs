// What a site reads for its first and its second query: rounds, requests and bytes, from a host behind a link of 50 ms and
// 20 Mbit/s, with nothing kept. Usage:
//   node tests/bench/site.mjs TREE [FILES]
// TREE is what `pinakes-compiler publish` wrote, FILES is target/site/files.
import { closeSync, fstatSync, openSync, readFileSync, readSync, readdirSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";

import { open } from "../../server/site/web/pinakes.js";

const [tree, files = "target/site/files"] = process.argv.slice(2);
const ROUND_TRIP_MILLIS = 50, BYTES_PER_MILLI = 20e6 / 8 / 1000;
const [packed] = readdirSync(files).filter((name) => name.endsWith(".wasm.gz"));
const module = new WebAssembly.Module(gunzipSync(readFileSync(path.join(files, packed))));
const moduleBytes = fstatSync(openSync(path.join(files, packed.replace(/gz$/, "br")), "r")).size;

/** What passed over the link since it was reset. A round begins when nothing is under way. */
const link = { rounds: 0, requests: 0, bytes: 0, underWay: 0, freeAt: 0 };

async function fetch(url, { headers }) {
    if (link.underWay++ === 0) link.rounds += 1;
    link.requests += 1;
    try {
        return await reply(path.join(tree, url.pathname), headers.Range?.slice("bytes=".length).split(","));
    } finally {
        link.underWay -= 1;
    }
}

async function reply(name, ranges) {
    const file = openSync(name, "r");
    const size = fstatSync(file).size;
    const parts = (ranges ?? [`0-${size - 1}`]).map((range) => {
        const [first, last] = range.split("-").map(Number);
        const bytes = Buffer.alloc(last - first + 1);
        readSync(file, bytes, 0, bytes.length, first);
        return { bytes, head: `\r\n--part\r\ncontent-range: bytes ${first}-${last}/${size}\r\n\r\n` };
    });
    closeSync(file);
    const isMany = parts.length > 1;
    const texts = isMany ? [...parts.flatMap(({ head, bytes }) => [Buffer.from(head), bytes]), Buffer.from("\r\n--part--")] : [parts[0].bytes];
    const body = Buffer.concat(texts);
    link.bytes += body.length;
    link.freeAt = Math.max(link.freeAt, performance.now()) + body.length / BYTES_PER_MILLI;
    await new Promise((resolve) => setTimeout(resolve, link.freeAt - performance.now() + ROUND_TRIP_MILLIS));
    const type = isMany ? "multipart/byteranges; boundary=part" : "application/octet-stream";
    return new Response(body, { status: ranges ? 206 : 200, headers: { "content-type": type } });
}

async function get(site, target) {
    const { status, body } = await site.answer({ target, headers: [["host", "localhost"]] });
    const bytes = new Uint8Array(await new Response(body).arrayBuffer());
    if (status !== 200) throw new Error(`${target}: ${status}`);
    return JSON.parse(new TextDecoder().decode(bytes));
}

async function measured(site, target) {
    Object.assign(link, { rounds: 0, requests: 0, bytes: 0 });
    const begun = performance.now();
    site ??= await open("http://localhost/", { module, fetch });
    await get(site, target);
    const { rounds, requests, bytes } = link;
    return { site, cells: [rounds, requests, Math.round(bytes / 1000), Math.round(performance.now() - begun)] };
}

// Queries of records in the middle of the list: each kind twice, with other values.
const probe = await open("http://localhost/", { module, fetch });
const middle = await get(probe, "/outputs?page=200&per_page=100&select=id,name");
const [one, other] = [3, 60].map((at) => middle.results[at].id);
const titles = middle.results.map(({ name }) => name.match(/\b[a-z]{5,}\b/g) ?? []).filter((words) => words.length > 4);
const [these, those] = [titles[0], titles[9]].map((words) => words.slice(0, 3).join("+"));
const KINDS = [
    ["a record", `/outputs/${one}`, `/outputs/${other}`],
    ["a page, one filter", "/outputs?filter=year:2015", "/outputs?filter=year:2009"],
    ["three words", `/outputs?search=${these}`, `/outputs?search=${those}`],
    ["groups by year", "/outputs?group_by=year", "/outputs?filter=type:article&group_by=year"],
    ["autocomplete, authors", "/autocomplete/authors?query=ma", "/autocomplete/authors?query=pe"],
    ["autocomplete, everything", "/autocomplete?query=ma", "/autocomplete?query=pe"],
];
console.log(`${middle.meta.count} outputs; the module has ${(moduleBytes / 1e6).toFixed(2)} MB in Brotli\n`);
console.log("| | first: rounds | requests | KB | ms | second: rounds | requests | KB | ms |");
console.log("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
for (const [kind, first, second] of KINDS) {
    const begun = await measured(undefined, first);
    const next = await measured(begun.site, second);
    console.log(`| ${[kind, ...begun.cells, ...next.cells].join(" | ")} |`);
}
console.log("\nRoaringRange, by its authors: 1 to 300 KB a query of 484 million works; ranks and five facets, no exact filters,");
console.log("groups, statistics, citations or verified bytes.");
