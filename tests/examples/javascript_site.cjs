// A catalogue as a website of plain files, in a browser
//
// make site
// pinakes-compiler publish SNAPSHOTS --to tree --site target/site/files
// npm install playwright-core
// node javascript_site.cjs tree /usr/bin/chromium
//
// The service worker answers every address from the files of the tree. The server below knows nothing of the catalogue.

const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { chromium } = require("playwright-core");

const [tree, executablePath] = process.argv.slice(2);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".json": "application/json" };

// ---- A server of plain files: ranges, and a page for what is not there ----
const files = http.createServer((request, response) => {
    const name = new URL(request.url, "http://localhost").pathname;
    const wanted = path.join(tree, name === "/" ? "index.html" : name);
    const isThere = wanted.startsWith(tree) && fs.statSync(wanted, { throwIfNoEntry: false })?.isFile();
    const file = isThere ? wanted : path.join(tree, "404.html");
    const size = fs.statSync(file).size;
    const range = isThere && /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    const [start, end] = range ? [Number(range[1]), Math.min(Number(range[2]), size - 1)] : [0, size - 1];
    response.writeHead(range ? 206 : isThere ? 200 : 404, {
        "content-type": TYPES[path.extname(file)] ?? "application/octet-stream",
        "content-length": end - start + 1,
        ...(range && { "content-range": `bytes ${start}-${end}/${size}` }),
    });
    fs.createReadStream(file, { start, end }).pipe(response);
});

async function visit(page, base) {
    // ---- The first visit loads the program, and goes on to the address ----
    await page.goto(`${base}/browse`);
    await page.getByRole("combobox", { name: /Search everything/ }).waitFor();

    // ---- Search, and open a record ----
    await page.goto(`${base}/browse/outputs?search=nucleic+acids`);
    await page.locator(".row h3 a").first().click();
    await page.waitForURL("**/browse/outputs/HX_W*");
    console.log("record", await page.getByRole("heading", { level: 1 }).innerText());

    // ---- Cite it ----
    const id = page.url().split("/").at(-1);
    const cited = await page.evaluate((id) => fetch(`/outputs/${id}?format=bibtex`).then((reply) => reply.text()), id);
    console.log("cited", cited.split("\n")[0]);

    // ---- Filter, by pages and by the interface ----
    await page.goto(`${base}/browse/outputs?filter=type:article`);
    console.log("articles", (await page.locator(".count strong").innerText()).replace(/\D/g, ""));
    const counted = await page.evaluate(() => fetch("/outputs?filter=type:article").then((reply) => reply.json()));
    console.log("counted", counted.meta.count);
}

async function main() {
    await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    try {
        const context = await browser.newContext();
        const page = await context.newPage();
        page.on("pageerror", (error) => console.log("error", error.message));
        const base = `http://127.0.0.1:${files.address().port}`;
        await visit(page, base);

        // ---- Without a network, what was read is still here ----
        files.closeAllConnections();
        files.close();
        await page.goto(`${base}/browse/outputs?filter=type:article`);
        console.log("offline", (await page.locator(".count strong").innerText()).replace(/\D/g, ""));
    } finally {
        await browser.close();
        // A server that listens keeps the program alive, after an error too.
        files.closeAllConnections();
        files.close();
    }
}

main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
});
