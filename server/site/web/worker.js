// The service worker of a site: answers the addresses of the interface on its origin, and leaves the files of the
// publication to the host. `make site` puts pinakes.js before this text, and the name of the module into it;
// `publish --site` adds the keys.

const KEYS = [];
const MODULE = "pinakes.wasm";
/** The address of the tree, and its path without the last slash. */
const TREE = new URL("./", self.location);
const BASE_PATH = TREE.pathname.slice(0, -1);
/** The files of the tree, and the programs of its pages; all other addresses are the interface's. */
const FILES = new RegExp(
    "^((snapshots|publications|objects)/|publication[.]json|manifest[.]json|(start|worker)[.]js$|pinakes-|" +
        "docs/(swagger-ui[.]|licences)|graphiql/(graphiql[.]|react|licences))",
);
/** The names of caches: one of programs, one of what is read of publications. */
const PROGRAMS = "pinakes-programs", READ = "pinakes-read";
/** Bytes of chunks that the browser keeps. The oldest go first. */
const KEPT_BYTES_MAX = 512 << 20;
/** How long a publication is used without a look for a newer one. */
const LOOK_AFTER_MILLIS = 10 * 60 * 1000;

/** Files of publications in the browser's cache storage, by size. */
class Kept {
    /** Names with their sizes, the oldest first. */
    #sizes = new Map();
    #bytes = 0;
    #cache;

    static async open() {
        const kept = new Kept();
        kept.#cache = await caches.open(READ);
        for (const { url } of await kept.#cache.keys()) {
            const [, name, size] = /^(.*)[?&]size=(\d+)$/.exec(url);
            // Another site of the same origin has files of its own.
            if (name.startsWith(TREE)) kept.#note(name.slice(TREE.href.length), Number(size));
        }
        return kept;
    }

    names() {
        return this.#sizes.keys();
    }

    async get(name) {
        const size = this.#sizes.get(name);
        if (size === undefined) return null;
        const found = await this.#cache.match(address(name, size));
        if (!found) return null;
        return new Uint8Array(await found.arrayBuffer());
    }

    async put(name, bytes) {
        try {
            await this.#forget(name);
            await this.#cache.put(address(name, bytes.length), new Response(bytes));
            this.#note(name, bytes.length);
            for (const oldest of this.#sizes.keys()) {
                if (this.#bytes <= KEPT_BYTES_MAX) break;
                await this.#forget(oldest);
            }
        } catch {
            // A browser without room keeps nothing, and answers as well.
        }
    }

    #note(name, size) {
        this.#sizes.set(name, size);
        this.#bytes += size;
    }

    async #forget(name) {
        const size = this.#sizes.get(name);
        if (size === undefined) return;
        this.#sizes.delete(name);
        this.#bytes -= size;
        await this.#cache.delete(address(name, size));
    }
}

/** The address under which a file is kept: with its size, so that the list of addresses tells all sizes. */
function address(name, size) {
    return `${TREE}${name}${name.includes("?") ? "&" : "?"}size=${size}`;
}

/** The open publication, and when it was looked for. */
let opened, lookedAt = 0;

/** The site. An error is not kept: the next request tries again. */
function site() {
    if (opened && Date.now() - lookedAt > LOOK_AFTER_MILLIS) {
        lookedAt = Date.now();
        // Requests go on with what is open.
        opened.then((site) => site.begin()).catch(() => {});
    }
    if (!opened) {
        lookedAt = Date.now();
        opened = begin();
        opened.catch(() => (opened = undefined));
    }
    return opened;
}

async function begin() {
    const [module, kept] = await Promise.all([compiled(), Kept.open()]);
    return open(TREE, { module, keys: KEYS, kept });
}

/** The module: kept by the page that loaded it, or from the host. */
async function compiled() {
    const [cache, address] = [await caches.open(PROGRAMS), new URL(MODULE, TREE)];
    const kept = await cache.match(address);
    const module = kept && (await WebAssembly.compile(await kept.arrayBuffer()).catch(() => null));
    if (module) return module;
    const bytes = await loadModule(address);
    await cache.put(address, new Response(bytes));
    return WebAssembly.compile(bytes);
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
    const { url } = event.request;
    if (url.startsWith(TREE) && !FILES.test(url.slice(TREE.href.length))) {
        event.respondWith(answer(event));
    }
});
// Pages send messages while they are open: a browser ends a worker without events, and the body that it makes.
self.addEventListener("message", () => {});

/** Removes older modules, and takes the open pages over. */
async function activate() {
    const cache = await caches.open(PROGRAMS);
    const address = new URL(MODULE, TREE).href;
    const older = (await cache.keys()).filter(({ url }) => url.startsWith(TREE) && url !== address);
    await Promise.all(older.map((request) => cache.delete(request)));
    await self.clients.claim();
}

async function answer(event) {
    const { request } = event;
    const { host, pathname, search, protocol } = new URL(request.url);
    try {
        const reply = await (await site()).answer({
            method: request.method,
            target: pathname.slice(BASE_PATH.length).replace(/^\/index[.]html$/, "/") + search,
            basePath: BASE_PATH,
            headers: [["host", host], ...request.headers],
            body: request.method === "POST" ? new Uint8Array(await request.arrayBuffer()) : null,
            isHttps: protocol === "https:",
        });
        const hasBody = ![204, 304].includes(reply.status) && request.method !== "HEAD";
        const body = hasBody ? reply.body : null;
        if (!(body instanceof ReadableStream)) return new Response(body, reply);
        // The worker lives until the body ends.
        const { readable, writable } = new TransformStream();
        event.waitUntil(body.pipeTo(writable).catch(() => {}));
        return new Response(readable, reply);
    } catch (error) {
        return unavailable(request, error.message);
    }
}

/** The reply while the host is away, or sends what it did not publish. */
function unavailable(request, message) {
    const status = 503;
    const isPage = request.headers.get("accept")?.includes("text/html");
    const body = isPage
        ? `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not here</title><link rel="icon" href="data:,"><h1>Not here</h1>` +
          `<p>This page is not kept in this browser, and its parts cannot be read from the host.` +
          `<p>${message.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)}<p><a href="">Try again</a>`
        : JSON.stringify({ statusCode: status, error: "Service Unavailable", message });
    const type = isPage ? "text/html; charset=utf-8" : "application/json";
    const headers = {
        "content-type": type,
        "cache-control": "no-store",
        "retry-after": "30",
        "content-security-policy": "default-src 'none'; img-src data:",
    };
    return new Response(body, { status, headers });
}
