// The first visit: loads the module, starts the service worker, and opens the address again, which the worker answers.
// `make site` puts module.js before this text, and the name of the module into it.

const MODULE = "pinakes.wasm";
const TREE = new URL("./", document.currentScript.src);
const line = document.getElementById("progress");

/** The errors of browsers whose settings allow a site nothing, and of a worker that is no JavaScript. */
const REFUSALS = ["SecurityError", "NotAllowedError"];

async function start() {
    if (location.protocol === "file:" || !("serviceWorker" in navigator)) {
        throw new Error(
            "This page needs a service worker. Browsers allow one on https: and on http://localhost: open the files of " +
                "this directory through a web server, for example `python3 -m http.server`, not as file:. Some browsers " +
                "have none in private windows.",
        );
    }
    if (typeof WebAssembly === "undefined") {
        throw new Error("This page needs WebAssembly, which the settings of this browser have turned off.");
    }
    const registered = navigator.serviceWorker.register(new URL("worker.js", TREE));
    const [cache, address] = [await caches.open("pinakes-programs"), new URL(MODULE, TREE)];
    if (!(await cache.match(address))) {
        const bytes = await loadModule(address, (loaded, all) => {
            // A host that packs the file again tells the size of what it sends.
            const percent = all >= loaded ? ` of ${(all / 1e6).toFixed(1)}` : "";
            line.textContent = `Loading the program, once: ${(loaded / 1e6).toFixed(1)}${percent} MB.`;
        });
        await cache.put(address, new Response(bytes));
    }
    await registered;
    await navigator.serviceWorker.ready;
    line.textContent = "Opening the catalogue.";
    location.reload();
}

start().catch((error) => {
    line.textContent = REFUSALS.includes(error.name)
        ? "The browser lets this site keep nothing, by its settings, or the host sends worker.js as another type than " +
          `JavaScript. ${error.message}`
        : `The program cannot be loaded. ${error.message}`;
});
