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
/** Memory from which on an instance takes no more requests: chunks stay in it until it ends. */
const MEMORY_BYTES_MAX = 1 << 30;
const PUBLICATION = "publication.json", SIGNATURE = "publication.json.minisig", MANIFEST = "manifest.json";

/** The publication cannot be read: the host is away, sends wrong bytes, or is not trusted. */
export class Unavailable extends Error {}

/**
 * Opens the publication at a URL.
 *
 * Options: `module`, the compiled module; `keys`, of which one must have signed the publication; `fetch`, by which files
 * are read; `kept`, which keeps files between sessions by `has(name)`, `get(name)` and `put(name, bytes)`. Nothing waits for
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
    /** Whether the host sends several ranges of a file in one reply. */
    #sendsMany = true;

    constructor(url, { module, keys = [], fetch = globalThis.fetch.bind(globalThis), kept = null }) {
        this.#url = new URL("./", url);
        this.#module = module;
        this.#keys = keys;
        this.#fetch = fetch;
        this.#kept = kept;
    }

    /** Reads the publication. If it is another one, the next request is answered from its snapshot. */
    async begin() {
        // `publish --site` puts the manifest beside the publication, so that both come in one round.
        const beside = this.#transfer(MANIFEST, null, true).catch(() => null);
        const [texts, early] = await Promise.all([this.#newest(), beside]);
        const [publication, signature = ""] = texts;
        if (publication === this.#opening?.publication) return;
        const id = JSON.parse(publication).snapshot?.id;
        if (!/^[0-9a-f]{16}$/.test(id)) throw new Unavailable("the publication names no snapshot");
        const manifest = await this.#manifest(`snapshots/${id}/${MANIFEST}`, id, early);
        const opening = { id, publication, signature, manifest };
        // Throws if the publication is not trusted, or its snapshot is not that of this module.
        const instance = new Instance(this.#module).begin(opening, this.#keys);
        [this.#opening, this.#instance] = [opening, instance];
        texts.forEach((text, at) => this.#kept?.put([PUBLICATION, SIGNATURE][at], new TextEncoder().encode(text)));
    }

    /**
     * The publication of the host, and its signature if there are keys: as they were kept if the host is away, or if what it
     * sends is older. Whoever answers for the host could send an old publication, which is signed, too.
     */
    async #newest() {
        const names = this.#keys.length > 0 ? [PUBLICATION, SIGNATURE] : [PUBLICATION];
        const all = (file) => Promise.all(names.map(file));
        const texts = (files) => files.map((bytes) => new TextDecoder().decode(bytes));
        const files = await all((name) => this.#kept?.get(name));
        const kept = files.every(Boolean) && texts(files);
        try {
            const sent = texts(await all((name) => this.#transfer(name, null, true)));
            const [before, now] = [kept, sent].map((of) => of && JSON.parse(of[0]).version);
            return this.#keys.length > 0 && before > now ? kept : sent;
        } catch (error) {
            if (kept) return kept;
            throw error;
        }
    }

    /** The manifest of a snapshot: the early one, if it is of this snapshot. */
    async #manifest(name, id, early) {
        if (!early || JSON.parse(new TextDecoder().decode(early)).id !== id) return this.#immutable(name);
        this.#kept?.put(name, early);
        return early;
    }

    /** The id of the snapshot. */
    get id() {
        return this.#opening.id;
    }

    /**
     * Answers a request: status, headers as pairs, and the body as bytes, or as a stream of a long one.
     * `headers` are pairs, with `host`, which links name. The links of pages lie below `basePath`.
     */
    async answer({ method = "GET", target, headers = [], body = null, isHttps = false, basePath = "" }) {
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
            const missing = JSON.parse(instance.text()).map((range) => ({ ...range, id: instance.id }));
            const sent = await this.#ranges(missing);
            // The values of the hash tree come first, which prove what follows.
            for (const [index, bytes] of sent.entries()) {
                try {
                    instance.give(request, index, bytes);
                } catch {
                    // What was kept may be damaged, or what the host sent.
                    instance.give(request, index, await this.#range(missing[index], true));
                }
            }
        }
    }

    /** The bytes of ranges of the snapshot's files: several ranges of a file in one request, where the host can. */
    async #ranges(missing) {
        const paths = [...new Set(missing.map(({ path }) => path))];
        const absent = paths.map((path) => this.#absent(missing.filter((range) => range.path === path)));
        for (const ranges of await Promise.all(absent)) {
            for (let at = 0; this.#sendsMany && at + 1 < ranges.length; at += RANGES_MAX) {
                this.#together(ranges.slice(at, at + RANGES_MAX));
            }
        }
        return Promise.all(missing.map((range) => this.#range(range)));
    }

    /** The ranges that are neither kept nor on their way. */
    async #absent(ranges) {
        const wanted = ranges.filter((range) => !this.#transfers.has(this.#key(range)));
        const kept = await Promise.all(wanted.map((range) => this.#kept?.has(this.#key(range))));
        return wanted.filter((_, at) => !kept[at]);
    }

    /** Asks for several ranges of a file in one request. A range that does not come so is asked for alone. */
    #together(ranges) {
        const sent = this.#transfer(this.#name(ranges[0]), ranges, false).catch(() => {
            this.#sendsMany = false;
            return new Map();
        });
        for (const range of ranges) {
            this.#note(range, async () => {
                const bytes = (await sent).get(range);
                if (!bytes) return this.#immutable(this.#name(range), range);
                this.#kept?.put(this.#key(range), bytes);
                return bytes;
            });
        }
    }

    #name({ id, path }) {
        return `snapshots/${id}/${path}`;
    }

    #key(range) {
        return `${this.#name(range)}?${range.from}-${range.to}`;
    }

    /** The bytes of a range, by the transfer that is under way if there is one. */
    #range(range, isFresh = false) {
        const transfer = !isFresh && this.#transfers.get(this.#key(range));
        return transfer || this.#note(range, () => this.#immutable(this.#name(range), range, isFresh));
    }

    /** Notes a transfer for as long as it is under way. */
    #note(range, begin) {
        const key = this.#key(range);
        const transfer = begin();
        this.#transfers.set(key, transfer);
        const forget = () => this.#transfers.get(key) === transfer && this.#transfers.delete(key);
        transfer.then(forget, forget);
        return transfer;
    }

    /** A file, or a range of one, that never changes: kept, or from the host. */
    async #immutable(name, range = null, isFresh = false) {
        const key = range ? `${name}?${range.from}-${range.to}` : name;
        const kept = isFresh ? null : await this.#kept?.get(key);
        if (kept) return kept;
        const bytes = await this.#transfer(name, range, isFresh);
        this.#kept?.put(key, bytes);
        return bytes;
    }

    async #transfer(name, range, isFresh) {
        if (this.#running >= TRANSFERS_MAX) {
            await new Promise((resolve) => this.#waiting.push(resolve));
        }
        this.#running += 1;
        try {
            return await this.#receive(name, range, isFresh);
        } catch (error) {
            if (error instanceof Unavailable) throw error;
            throw new Unavailable(`${name}: ${error.message}`);
        } finally {
            this.#running -= 1;
            this.#waiting.shift()?.();
        }
    }

    /** The bytes of a file or of a range; of several ranges, the bytes of those that came. */
    async #receive(name, range, isFresh) {
        const ranges = [range ?? []].flat().map(({ from, to }) => `${from}-${to - 1}`);
        const headers = range ? { Range: `bytes=${ranges}` } : {};
        const cache = isFresh ? "no-cache" : "default";
        const response = await this.#fetch(new URL(name, this.#url), { headers, cache });
        if (Array.isArray(range)) {
            const boundary = /^multipart\/byteranges;.*boundary="?([^";]+)/.exec(response.headers.get("content-type"));
            this.#sendsMany &&= response.status === 206 && boundary !== null;
            if (this.#sendsMany) return parts(new Uint8Array(await response.arrayBuffer()), boundary[1], range);
            await response.body?.cancel();
            return new Map();
        }
        if (response.ok && range && response.status !== 206) return cut(response.body, range);
        if (!response.ok) throw new Unavailable(`${name}: the host answered ${response.status}`);
        return new Uint8Array(await response.arrayBuffer());
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

/** The bytes of a range, from a host that knows no ranges and sends the whole file. */
async function cut(stream, { from, to }) {
    const bytes = new Uint8Array(to - from);
    let at = 0;
    for (const reader = stream.getReader(); at < to; ) {
        const { done, value } = await reader.read();
        if (done) throw new Unavailable("the file is too short");
        const part = value.subarray(Math.max(0, from - at), Math.max(0, to - at));
        if (part.length > 0) bytes.set(part, Math.max(at, from) - from);
        at += value.length;
        if (at >= to) await reader.cancel();
    }
    return bytes;
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

    give(request, index, bytes) {
        this.#input(bytes.length).set(bytes);
        this.#check(this.#call("give", request, index));
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
