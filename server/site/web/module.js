// Loads the module. Its file is packed, whether or not the host packs what it sends.

/** The packings, the smallest first, with the names of their files and of the browser's decoders. */
const PACKINGS = [["br", "brotli"], ["gz", "gzip"]];

/** The bytes of the module at an address. `progress` is called with the packed bytes so far and in all. */
async function loadModule(address, progress = () => {}) {
    const packing = PACKINGS.find(([, decoder]) => canUnpack(decoder));
    if (!packing) throw new Error("this browser cannot unpack the module; use a newer one");
    const [extension, decoder] = packing;
    const response = await fetch(`${address}.${extension}`);
    if (!response.ok) throw new Error(`the module: the host answered ${response.status}`);
    const all = Number(response.headers.get("content-length"));
    let loaded = 0;
    const counted = new TransformStream({
        transform(part, controller) {
            progress((loaded += part.length), all);
            controller.enqueue(part);
        },
    });
    const packed = new Uint8Array(await new Response(response.body.pipeThrough(counted)).arrayBuffer());
    // A host may have named the packing in a header, so that the browser has undone it.
    const isUnpacked = packed[0] === 0 && packed[1] === 0x61 && packed[2] === 0x73 && packed[3] === 0x6d;
    const stream = () => new Blob([packed]).stream().pipeThrough(new DecompressionStream(decoder));
    const bytes = isUnpacked ? packed : new Uint8Array(await new Response(stream()).arrayBuffer().catch(() => refuse()));
    // The name has the beginning of the hash.
    const [, expected = ""] = /-([0-9a-f]{16})[.]wasm$/.exec(address) ?? [];
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const found = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return found.startsWith(expected) ? bytes : refuse();
}

function refuse() {
    throw new Error("the module: the host sent other bytes than were published");
}

function canUnpack(decoder) {
    try {
        return Boolean(new DecompressionStream(decoder));
    } catch {
        return false;
    }
}
