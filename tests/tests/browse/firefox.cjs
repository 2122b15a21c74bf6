// A site of plain files in Firefox, as a reader uses it. Usage:
//   node firefox.cjs MODULES TREE
// MODULES holds puppeteer-core, TREE is what `pinakes-compiler publish --site` wrote. Prints what the reader finds: also without
// the host, and in a browser that was restarted. Exits with 1 after an error, also one that Firefox logs.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");

const [modules, tree] = process.argv.slice(2);
const puppeteer = require(path.join(modules, "puppeteer-core"));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".json": "application/json" };
// A busy machine is slow.
const WAIT_MILLIS = 30_000;

// A server of plain files: ranges, and a page for what is not there.
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

const launch = (userDataDir) =>
    puppeteer.launch({
        browser: "firefox",
        executablePath: "/usr/bin/firefox-esr",
        userDataDir,
        headless: true,
        timeout: WAIT_MILLIS,
        // puppeteer waits for an event that pages out of the cache of "back" do not send.
        extraPrefsFirefox: { "browser.sessionhistory.max_total_viewers": 0 },
    });

async function open(browser, problems) {
    const page = await browser.newPage();
    // On narrow windows, the filters are folded.
    await page.setViewport({ width: 1280, height: 800 });
    page.setDefaultTimeout(WAIT_MILLIS);
    // Firefox reports what a policy blocks as an error of the page.
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => ["error", "warn"].includes(message.type()) && problems.push(message.text()));
    return page;
}

/** Does something that leads to another address. `waitForFunction` of puppeteer does not outlive a page of Firefox. */
async function follow(page, address, act) {
    await act();
    const state = () => page.evaluate(() => [document.readyState, location.href]).catch(() => ["", ""]);
    for (const end = Date.now() + WAIT_MILLIS; ; ) {
        const [readyState, href] = await state();
        if (readyState === "complete" && address.test(href)) return;
        if (Date.now() > end) throw new Error(`${href} is not ${address}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

const counted = (page) => page.$eval(".count strong", (count) => count.innerText.replace(/\D/g, ""));
const heading = (page) => page.$eval("h1", (element) => element.innerText);

async function visit(page, base) {
    // The first visit loads the program, and goes on to the address. The reload may come before `goto` ends.
    await page.goto(`${base}/browse`, { waitUntil: "domcontentloaded" }).catch(() => {});
    await page.waitForSelector("input[role=combobox]");

    // Names are completed.
    await page.type("#query", "univ", { delay: 20 });
    await page.waitForSelector("[role=option]");
    await page.keyboard.press("ArrowDown");
    await follow(page, /\/browse\/[a-z]+\/HX_/, () => page.keyboard.press("Enter"));
    console.log("completed", await heading(page));
    await follow(page, /\/browse$/, () => page.evaluate(() => history.back()));

    // Search, and open a record.
    await page.goto(`${base}/browse/outputs`);
    await page.type("#query", "nucleic acids");
    await follow(page, /search=nucleic%20acids$/, () => page.click("form.search button"));
    await follow(page, /\/browse\/outputs\/HX_W/, () => page.click(".row h3 a"));
    console.log("record", await heading(page));
    await page.reload();

    // Cite it.
    const id = page.url().split("/").at(-1);
    const cited = await page.evaluate((id) => fetch(`/outputs/${id}?format=bibtex`).then((reply) => reply.text()), id);
    console.log("cited", cited.split("\n")[0]);

    // Filter, by the form, by a group, and by the interface.
    await page.goto(`${base}/browse/outputs`);
    await page.evaluate(() => [...document.querySelectorAll("summary")].find((one) => one.innerText === "More filters").click());
    await page.select("#key", "type");
    await page.type("#value", "article");
    await follow(page, /filter=type:article$/, () => page.click("form.search button"));
    console.log("articles", await counted(page));
    await follow(page, /filter=type:article,/, () => page.$eval(".group a", (link) => link.click()));
    console.log("of a group", await counted(page));
    const reply = await page.evaluate(() => fetch("/outputs?filter=type:article").then((reply) => reply.json()));
    console.log("counted", reply.meta.count);
    return id;
}

async function main() {
    await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${files.address().port}`;
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), "firefox-"));
    const problems = [];
    let browser = await launch(profile);
    try {
        let page = await open(browser, problems);
        const id = await visit(page, base);

        // Without a network, what was read is still here.
        await page.goto(`${base}/browse`);
        files.closeAllConnections();
        await new Promise((resolve) => files.close(resolve));
        await page.goto(`${base}/browse/outputs?filter=type:article`);
        console.log("offline", await counted(page));

        // Also in a browser that was closed, in any order.
        await browser.close();
        browser = await launch(profile);
        page = await open(browser, problems);
        for (const address of ["/browse", `/browse/outputs/${id}`, "/browse/outputs?filter=type:article"]) {
            const reply = await page.goto(base + address);
            console.log("restarted", reply.status(), await heading(page));
        }
    } finally {
        await browser.close();
        files.closeAllConnections();
        files.close();
        fs.rmSync(profile, { recursive: true, force: true });
    }
    problems.forEach((problem) => console.log("error", problem));
    if (problems.length > 0) process.exitCode = 1;
}

main()
    .catch((error) => {
        console.error(error);
        process.exitCode = 1;
    })
    // Pipes of Firefox may stay open.
    .finally(() => process.exit());
