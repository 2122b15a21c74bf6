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
    if (isUnpacked) return packed;
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream(decoder));
    return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

function canUnpack(decoder) {
    try {
        return Boolean(new DecompressionStream(decoder));
    } catch {
        return false;
    }
}
