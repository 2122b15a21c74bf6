// The first visit: loads the module, starts the service worker, and opens the address again, which the worker answers.
// `make site` puts module.js before this text, and the name of the module into it.

const MODULE = "pinakes.wasm";
const TREE = new URL("./", document.currentScript.src);
const line = document.getElementById("progress");

async function start() {
    if (!("serviceWorker" in navigator)) {
        throw new Error(
            "This page needs a service worker. Browsers allow one on https: and on http://localhost: open the files of " +
                "this directory through a web server, for example `python3 -m http.server`, not as file:. Some browsers " +
                "have none in private windows.",
        );
    }
    const registered = navigator.serviceWorker.register(new URL("worker.js", TREE));
    const [cache, address] = [await caches.open("pinakes-programs"), new URL(MODULE, TREE)];
    if (!(await cache.match(address))) {
        const bytes = await loadModule(address, (loaded, all) => {
            const percent = all > 0 ? ` of ${(all / 1e6).toFixed(1)}` : "";
            line.textContent = `Loading the program, once: ${(loaded / 1e6).toFixed(1)}${percent} MB.`;
        });
        await cache.put(address, new Response(bytes));
    }
    await registered;
    await navigator.serviceWorker.ready;
    line.textContent = "Opening the catalogue.";
    location.reload();
}

start().catch((error) => (line.textContent = error.message));
