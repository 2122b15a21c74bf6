// Answers requests from a publication on a host of plain files: the interface of pinakes-server, without a server.
//
//   const site = await open("https://data.example.org/", { module });
//   const { status, headers, body } = await site.answer({ target: "/outputs?filter=year:2024" });
//
// `module` is the compiled WebAssembly module. The module asks for ranges of files, and verifies what the host sends.

/** The results of calls, as src/exports.rs numbers them. */
const DONE = 0, MISSING = 1, FAILED = 2, ENDED = 3;
/** Transfers at the same time. Browsers set lower limits for old protocols. */
const TRANSFERS_MAX = 64;
/** Ranges of one request: their header stays below 2 KB. */
const RANGES_MAX = 64;
/** Of a host that sends whole files, the beginning of a file is kept up to this size. */
const BEGINNING_BYTES_MAX = 32 << 20;
/** Statuses of faults that pass, and the pause before the host is asked once more, unless it names another. */
const PASSING = [429, 500, 502, 503, 504], PAUSE_MILLIS = 500, PAUSE_MILLIS_MAX = 10_000;
/** Statuses of files that the host does not have any more. */
const GONE = [404, 410];
/** Memory from which on an instance takes no more requests: chunks stay in it until it ends. */
const MEMORY_BYTES_MAX = 1 << 30;
const PUBLICATION = "publication.json", SIGNATURE = "publication.json.minisig", MANIFEST = "manifest.json";

/** The publication cannot be read: the host is away, sends wrong bytes, or is not trusted. */
export class Unavailable extends Error {
    constructor(message, response = null) {
        super(message);
        this.isGone = GONE.includes(response?.status);
        this.isPassing = PASSING.includes(response?.status);
        this.pauseMillis = Math.min(response?.headers.get("retry-after") * 1000 || PAUSE_MILLIS, PAUSE_MILLIS_MAX);
    }
}

/**
 * Opens the publication at a URL.
 *
 * Options: `module`, the compiled module; `keys`, of which one must have signed the publication; `fetch`, by which files
 * are read; `kept`, which keeps bytes between sessions by `names()`, `get(name)` and `put(name, bytes)`. Nothing waits for
 * what is put, so `put` must not fail.
 */
export async function open(url, options) {
    const site = new Site(url, options);
    await site.begin();
    return site;
}

class Site {
    #url;
    #module;
    #keys;
    #fetch;
    #kept;
    /** The text of the publication, its signature and its manifest. */
    #opening;
    /** The instance that takes requests, once it is ready. */
    #instance;
    /** Ranges that are on their way. */
    #transfers = new Map();
    #running = 0;
    #waiting = [];
    /** What the host sends of a file: "many" ranges in one reply, "one" range, or "whole" files. */
    #sends = "many";

    constructor(url, { module, keys = [], fetch = globalThis.fetch.bind(globalThis), kept = null }) {
        this.#url = new URL("./", url);
        this.#module = module;
        this.#keys = keys;
        this.#fetch = fetch;
        this.#kept = new KeptRanges(kept);
    }

    /** Reads the publication. If it is another one, the next request is answered from its snapshot. */
    async begin() {
        // `publish --site` puts the manifest beside the publication, so that both come in one round.
        const beside = this.#transfer(MANIFEST, null, true).catch(() => null);
        const [texts, early] = await Promise.all([this.#newest(), beside]);
        const [publication, signature = ""] = texts;
        if (publication === this.#opening?.publication) return;
        const id = json(publication)?.snapshot?.id;
        if (!/^[0-9a-f]{16}$/.test(id)) throw new Unavailable("the publication names no snapshot");
        const manifest = await this.#manifest(`snapshots/${id}/${MANIFEST}`, id, early);
        const opening = { id, publication, signature, manifest };
        // Throws if the publication is not trusted, or its snapshot is not that of this module.
        const instance = new Instance(this.#module).begin(opening, this.#keys);
        [this.#opening, this.#instance] = [opening, instance];
        texts.forEach((text, at) => this.#kept.put([PUBLICATION, SIGNATURE][at], new TextEncoder().encode(text)));
    }

    /**
     * The publication of the host, and its signature if there are keys: as they were kept if the host is away, or if what it
     * sends is older. Whoever answers for the host could send an old publication, which is signed, too.
     */
    async #newest() {
        const names = this.#keys.length > 0 ? [PUBLICATION, SIGNATURE] : [PUBLICATION];
        const all = (file) => Promise.all(names.map(file));
        const texts = (files) => files.map((bytes) => new TextDecoder().decode(bytes));
        const files = await all((name) => this.#kept.get(name));
        const kept = files.every(Boolean) && texts(files);
        try {
            const sent = texts(await all((name) => this.#transfer(name, null, true)));
            const [before, now] = [kept, sent].map((of) => of && json(of[0])?.version);
            if (!now) throw new Unavailable("what the host sends is no publication");
            return this.#keys.length > 0 && before > now ? kept : sent;
        } catch (error) {
            if (kept) return kept;
            throw error;
        }
    }

    /** The manifest of a snapshot: the early one, if it is of this snapshot. */
    async #manifest(name, id, early) {
        const isEarly = early && json(new TextDecoder().decode(early))?.id === id;
        const kept = isEarly ? null : await this.#kept.get(name);
        if (kept) return kept;
        const manifest = isEarly ? early : await this.#transfer(name, null, false);
        this.#kept.put(name, manifest);
        return manifest;
    }

    /** The id of the snapshot. */
    get id() {
        return this.#opening.id;
    }

    /**
     * Answers a request: status, headers as pairs, and the body as bytes, or as a stream of a long one.
     * `headers` are pairs, with `host`, which links name. The links of pages lie below `basePath`.
     */
    async answer(request) {
        const { id } = this;
        try {
            return await this.#answer(request);
        } catch (error) {
            // The host may have published another snapshot, and have removed the files of this one.
            if (!error.isGone) throw error;
            await this.begin();
            if (this.id === id) throw error;
            return this.#answer(request);
        }
    }

    async #answer({ method = "GET", target, headers = [], body = null, isHttps = false, basePath = "" }) {
        const instance = await this.#ready();
        const head = { method, target, headers, is_https: isHttps, base_path: basePath };
        const request = instance.ask(head, body ?? new Uint8Array());
        let isInPieces = false;
        try {
            await this.#work(instance, request, "attempt");
            const reply = instance.reply();
            ({ isInPieces } = reply);
            return isInPieces ? { ...reply, body: this.#pieces(instance, request) } : reply;
        } finally {
            if (!isInPieces) instance.end(request);
        }
    }

    /** The body of a reply in pieces, each made when it is read. */
    #pieces(instance, request) {
        return new ReadableStream({
            pull: async (controller) => {
                try {
                    // A piece may be empty.
                    for (;;) {
                        const result = await this.#work(instance, request, "piece");
                        if (result === ENDED) break;
                        const piece = instance.output();
                        if (piece.length > 0) return controller.enqueue(piece);
                    }
                    instance.end(request);
                    controller.close();
                } catch (error) {
                    instance.end(request);
                    controller.error(error);
                }
            },
            cancel: () => instance.end(request),
        });
    }

    /** An instance with the publication open. */
    #ready() {
        if (this.#instance?.isFull) this.#instance = undefined;
        return (this.#instance ??= new Instance(this.#module).begin(this.#opening, this.#keys));
    }

    /** Repeats a call until nothing is missing. */
    async #work(instance, request, call) {
        for (;;) {
            const result = instance.call(call, request);
            if (result !== MISSING) return result;
            // A newer publication may be open meanwhile.
            const missing = JSON.parse(instance.text()).map((range) => ({ ...range, name: `snapshots/${instance.id}/${range.path}` }));
            const { parts, failure } = await this.#read(missing);
            let given = 0;
            // The values of the hash tree come first, which prove what follows.
            for (const { index, from, bytes } of parts) {
                let result;
                try {
                    result = instance.give(request, index, from, bytes);
                } catch {
                    // What was kept may be damaged, or what the host sent.
                    const part = { ...missing[index], from, to: from + bytes.length };
                    result = instance.give(request, index, from, await this.#range(part, true));
                }
                given += result === DONE ? 1 : 0;
            }
            // Ranges also have what may be asked for next: without a host, the kept parts of them may do.
            if (failure && given === 0) throw failure;
        }
    }

    /** The kept parts of ranges, and what the host sends of the rest, in the order of the ranges; `failure` is why some are missing. */
    async #read(missing) {
        const kept = await this.#kept.read(missing);
        const rests = missing.flatMap((range, index) => without(range, kept[index]).map((rest) => ({ ...rest, index })));
        this.#together(rests.filter((rest) => !this.#transfers.has(key(rest))));
        const sent = await Promise.allSettled(
            rests.map(async (rest) => ({ index: rest.index, from: rest.from, bytes: await this.#range(rest) })),
        );
        const here = kept.flatMap((parts, index) => parts.map((part) => ({ ...part, index })));
        const came = sent.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
        const parts = [...here, ...came].sort((a, b) => a.index - b.index || a.from - b.from);
        return { parts, failure: sent.find(({ status }) => status === "rejected")?.reason };
    }

    /** Asks for several ranges of a file in one request, where the host can. A range that does not come so is asked for alone. */
    #together(ranges) {
        for (const name of new Set(ranges.map((range) => range.name))) {
            const ofFile = ranges.filter((range) => range.name === name);
            const size = { many: RANGES_MAX, one: 1, whole: ofFile.length }[this.#sends];
            for (let at = 0; at < ofFile.length; at += size) {
                const some = ofFile.slice(at, at + size);
                if (some.length > 1) this.#noteAll(name, some);
            }
        }
    }

    #noteAll(name, ranges) {
        const sent = this.#transfer(name, ranges, false).catch(() => new Map());
        for (const range of ranges) {
            this.#note(range, async () => (await sent).get(range) ?? this.#alone(range, false));
        }
    }

    /** The bytes of a range, by the transfer that is under way if there is one. */
    #range(range, isFresh = false) {
        const transfer = !isFresh && this.#transfers.get(key(range));
        return transfer || this.#note(range, () => this.#alone(range, isFresh));
    }

    /** Notes a transfer for as long as it is under way. */
    #note(range, begin) {
        const transfer = begin();
        this.#transfers.set(key(range), transfer);
        const forget = () => this.#transfers.get(key(range)) === transfer && this.#transfers.delete(key(range));
        transfer.then(forget, forget);
        return transfer;
    }

    async #alone(range, isFresh) {
        return (await this.#transfer(range.name, [range], isFresh)).get(range);
    }

    /** The bytes of a file; of ranges of it, those that came. After a fault that passes, the host is asked once more. */
    async #transfer(name, ranges, isFresh) {
        if (this.#running >= TRANSFERS_MAX) {
            await new Promise((resolve) => this.#waiting.push(resolve));
        }
        this.#running += 1;
        try {
            return await this.#receive(name, ranges, isFresh).catch(async (error) => {
                if (!error.isPassing) throw error;
                await new Promise((resolve) => setTimeout(resolve, error.pauseMillis));
                return this.#receive(name, ranges, isFresh);
            });
        } catch (error) {
            if (error instanceof Unavailable) throw error;
            throw new Unavailable(`${name}: ${error.message}`);
        } finally {
            this.#running -= 1;
            this.#waiting.shift()?.();
        }
    }

    async #receive(name, ranges, isFresh) {
        const asksRanges = ranges && this.#sends !== "whole";
        const headers = asksRanges ? { Range: `bytes=${ranges.map(({ from, to }) => `${from}-${to - 1}`)}` } : {};
        const cache = isFresh ? "no-cache" : "default";
        const response = await this.#fetch(new URL(name, this.#url), { headers, cache });
        if (!response.ok) throw new Unavailable(`${name}: the host answered ${response.status}`, response);
        if (!ranges) return new Uint8Array(await response.arrayBuffer());
        if (response.status !== 206) {
            this.#sends = "whole";
            return this.#cut(name, response.body, ranges);
        }
        let found;
        if (ranges.length === 1) {
            found = new Map([[ranges[0], new Uint8Array(await response.arrayBuffer())]]);
        } else {
            const boundary = /^multipart\/byteranges;.*boundary="?([^";]+)/.exec(response.headers.get("content-type"));
            if (!boundary) {
                this.#sends = "one";
                await response.body?.cancel();
                return new Map();
            }
            found = parts(new Uint8Array(await response.arrayBuffer()), boundary[1], ranges);
        }
        this.#kept.putRanges(name, found);
        return found;
    }

    /** The bytes of ranges, from a host that sends the whole file: it is read once, as far as the last range. */
    async #cut(name, stream, ranges) {
        const end = Math.max(...ranges.map(({ to }) => to));
        const beginning = end <= BEGINNING_BYTES_MAX ? { from: 0, to: end } : null;
        const found = await cut(stream, beginning ? [beginning] : ranges);
        this.#kept.putRanges(name, found);
        const bytes = found.get(beginning);
        return bytes ? new Map(ranges.map((range) => [range, bytes.slice(range.from, range.to)])) : found;
    }
}

/** A text as JSON; null of another text, which some hosts send in place of a file. */
function json(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

/** The name of a range, for those that are on their way. */
function key({ name, from, to }) {
    return `${name}?${from}-${to}`;
}

/** The parts of a range that are not among others, which ascend. */
function without(range, parts) {
    const rests = [];
    let at = range.from;
    for (const { from, bytes } of [...parts, { from: range.to, bytes: [] }]) {
        if (at < from) rests.push({ ...range, from: at, to: from });
        at = from + bytes.length;
    }
    return rests;
}

/** Bytes that are kept between sessions: files, and ranges of files by their places. */
class KeptRanges {
    #kept;
    /** By the name of a file, the places of its ranges, and where each is in what is kept: `{from, to, name, at}`. */
    #places = new Map();

    constructor(kept) {
        this.#kept = kept;
        for (const name of kept?.names() ?? []) this.#note(name);
    }

    /** Notes the places of what is kept as `file?from-to,from-to`: the bytes of several ranges, one behind the other. */
    #note(name) {
        const [file, ranges] = name.split("?");
        if (!ranges) return;
        if (!this.#places.has(file)) this.#places.set(file, []);
        let at = 0;
        for (const range of ranges.split(",")) {
            const [from, to] = range.split("-").map(Number);
            this.#places.get(file).push({ from, to, name, at });
            at += to - from;
        }
    }

    async get(name) {
        return (await this.#kept?.get(name)) ?? null;
    }

    put(name, bytes) {
        this.#kept?.put(name, bytes);
    }

    /** The parts of each range that are kept. They ascend and do not overlap. What is kept together is read once. */
    read(ranges) {
        const read = new Map();
        const get = (name) => {
            if (!read.has(name)) read.set(name, this.get(name));
            return read.get(name);
        };
        return Promise.all(ranges.map((range) => this.#parts(range, get)));
    }

    async #parts({ name: file, from, to }, get) {
        const places = (this.#places.get(file) ?? []).filter((place) => place.from < to && from < place.to);
        const parts = [];
        let end = from;
        for (const place of places.sort((a, b) => a.from - b.from)) {
            const [begin, stop] = [Math.max(place.from, end), Math.min(place.to, to)];
            if (begin >= stop) continue;
            const bytes = await get(place.name);
            // What was kept may be gone.
            if (!bytes) continue;
            const first = place.at + begin - place.from;
            parts.push({ from: begin, bytes: bytes.subarray(first, first + stop - begin) });
            end = stop;
        }
        return parts;
    }

    /** Keeps ranges of a file together: a browser needs long to list many entries. */
    putRanges(file, found) {
        if (!this.#kept || found.size === 0) return;
        const ranges = [...found.keys()];
        const bytes = new Uint8Array(ranges.reduce((sum, { from, to }) => sum + to - from, 0));
        let at = 0;
        for (const range of ranges) {
            bytes.set(found.get(range), at);
            at += range.to - range.from;
        }
        const name = `${file}?${ranges.map(({ from, to }) => `${from}-${to}`)}`;
        this.#note(name);
        this.put(name, bytes);
    }
}

/** The bytes of ranges in a body of type multipart/byteranges. A part may hold neighbouring ranges. */
function parts(body, boundary, ranges) {
    const found = new Map();
    const text = (from, to) => new TextDecoder("latin1").decode(body.subarray(from, to));
    for (let at = text(0, 1000).indexOf(`--${boundary}`); at >= 0; ) {
        const head = text(at, at + 1000);
        const [all, first, last] = /^[\s\S]*?content-range: *bytes (\d+)-(\d+)[\s\S]*?\r\n\r\n/i.exec(head) ?? [];
        if (all === undefined) break;
        const [from, to, begin] = [Number(first), Number(last) + 1, at + all.length];
        for (const range of ranges) {
            if (from <= range.from && range.to <= to) {
                found.set(range, body.slice(begin + range.from - from, begin + range.to - from));
            }
        }
        const next = text(begin + to - from, begin + to - from + 200).indexOf(`--${boundary}`);
        at = next < 0 ? -1 : begin + to - from + next;
    }
    return found;
}

/** The bytes of ranges of a file that is sent whole, as far as the last of them. */
async function cut(stream, ranges) {
    const found = new Map(ranges.map((range) => [range, new Uint8Array(range.to - range.from)]));
    const end = Math.max(...ranges.map(({ to }) => to));
    let at = 0;
    for (const reader = stream.getReader(); at < end; ) {
        const { done, value } = await reader.read();
        if (done) throw new Unavailable("the file is too short");
        for (const [{ from, to }, bytes] of found) {
            const part = value.subarray(Math.max(0, from - at), Math.max(0, to - at));
            if (part.length > 0) bytes.set(part, Math.max(at, from) - from);
        }
        at += value.length;
        if (at >= end) await reader.cancel();
    }
    return found;
}

/** An instance of the module. A call that fails by a fault of the module leaves the instance unusable. */
class Instance {
    #exports;
    #isBroken = false;

    constructor(module) {
        this.#exports = new WebAssembly.Instance(module, {}).exports;
    }

    begin({ id, publication, signature, manifest }, keys) {
        this.id = id;
        this.#write({ publication, signature, keys }, manifest);
        this.#check(this.#call("open", Date.now()));
        return this;
    }

    /** Whether another instance should take the next request. */
    get isFull() {
        return this.#isBroken || this.#exports.memory.buffer.byteLength > MEMORY_BYTES_MAX;
    }

    ask(head, body) {
        this.#write(head, body);
        const request = this.#call("ask", Date.now());
        if (request === 0) throw new TypeError(this.text());
        return request;
    }

    call(name, request) {
        return this.#check(this.#call(name, request));
    }

    give(request, index, from, bytes) {
        this.#input(bytes.length).set(bytes);
        return this.#check(this.#call("give", request, index, from));
    }

    end(request) {
        // After a trap, nothing of the instance is used again.
        if (!this.#isBroken) this.#call("end", request);
    }

    reply() {
        const output = this.output();
        const end = output.indexOf(10);
        const head = JSON.parse(new TextDecoder().decode(output.subarray(0, end)));
        return { ...head, body: output.subarray(end + 1) };
    }

    text() {
        return new TextDecoder().decode(this.output());
    }

    /** A copy of the output of the last call. */
    output() {
        const { memory, output, output_bytes } = this.#exports;
        return new Uint8Array(memory.buffer, output() >>> 0, output_bytes() >>> 0).slice();
    }

    #write(head, rest) {
        const line = new TextEncoder().encode(`${JSON.stringify(head)}\n`);
        const input = this.#input(line.length + rest.length);
        input.set(line);
        input.set(rest, line.length);
    }

    #input(bytes) {
        const at = this.#exports.input(bytes) >>> 0;
        return new Uint8Array(this.#exports.memory.buffer, at, bytes);
    }

    #call(name, ...values) {
        try {
            return this.#exports[name](...values);
        } catch (error) {
            this.#isBroken = true;
            throw error;
        }
    }

    #check(result) {
        if (result === FAILED) throw new Unavailable(this.text());
        return result;
    }
}
