// Opens every type of page in Chromium, in both colour schemes. Usage:
//   node browser.cjs MODULES BASE [PICTURES]
// MODULES holds playwright-core and axe-core, BASE is the server. PICTURES takes a picture of each page: pictures of whole
// pages take most of the time, so that none are made without it.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");

const [modules, base, pictures] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));
const axe = path.join(modules, "axe-core", "axe.min.js");

const PAGES = [
  ["home", "/browse"],
  ["search", "/browse/search?query=univ"],
  ["search-empty", "/browse/search"],
  ["taxonomy", "/browse/taxonomy"],
  ["outputs", "/browse/outputs"],
  ["outputs-filtered", "/browse/outputs?filter=type:article,year:>1900,is_oa:true&search=the&sort=year:desc"],
  ["outputs-nothing", "/browse/outputs?filter=type:nothing"],
  ["authors", "/browse/authors"],
  ["sources", "/browse/sources"],
  ["institutions", "/browse/institutions"],
  ["publishers", "/browse/publishers"],
  ["funders", "/browse/funders"],
  ["topics", "/browse/topics"],
  ["domains", "/browse/domains"],
  ["fields", "/browse/fields"],
  ["subfields", "/browse/subfields"],
  ["institution-types", "/browse/references/institution-types"],
  // The record of an output with many members.
  ["record", "/browse/outputs/HX_W2900000096"],
  ["not-found", "/browse/outputs/HX_W1"],
  ["bad-request", "/browse/outputs?filter=yaer:2020&with.year.from=20x0&search=theory&sort=x"],
  ["bad-search", "/browse/outputs?search=(theory+OR&filter=type:article"],
  ["search-nothing", "/browse/outputs?search=theory+AND+qqzzxxyy&filter=type:article"],
];
// Lists whose first record is opened.
const RECORDS = ["outputs", "authors", "sources", "institutions", "publishers", "funders", "topics", "domains", "fields", "subfields"];
const ALL = { pages: PAGES, lists: RECORDS };
// In the dark, one page of each layout.
const LAYOUTS = ["home", "search", "taxonomy", "outputs-filtered", "record", "bad-request", "search-nothing", "not-found"];
const ONE_EACH = { pages: PAGES.filter(([name]) => LAYOUTS.includes(name)), lists: ["institutions"] };

// A page that reports what no page may do.
const watched = async (context) => {
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // Chromium logs the status of a page that is an error.
    const isStatus = message.text().includes("status of 4") && message.location().url === page.url();
    if (["error", "warning"].includes(message.type()) && !isStatus) {
      problems.push(`${message.type()}: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`${base}/`)) {
      problems.push(`request to ${request.url()}`);
    }
  });
  return { page, problems };
};

const picture = async (page, name) => {
  if (pictures) {
    await page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: true });
  }
};

// What axe checks of a page: everything once, the colours again in the dark, and in a narrow window that links are far enough
// apart for fingers.
const EVERYTHING = { resultTypes: ["violations"] };
const COLOURS = { ...EVERYTHING, runOnly: ["color-contrast", "link-in-text-block"] };
const PLACES = { ...EVERYTHING, runOnly: ["target-size", "scrollable-region-focusable"] };

const inspect = async ({ page, problems }, name, rules) => {
  await picture(page, name);
  const { violations } = await page.evaluate((rules) => axe.run(document, rules), rules);
  for (const violation of violations) {
    const nodes = violation.nodes.map((node) => `${node.html} ${node.failureSummary}`);
    problems.push(`axe ${violation.id}: ${violation.help}\n  ${nodes.slice(0, 3).join("\n  ")}`);
  }
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  if (isWide) {
    problems.push("the page is wider than its window");
  }
  assert.deepStrictEqual(problems, [], name);
};

// Opens pages in a tab of its own, and the first record of each list.
const openAll = async (browser, colorScheme, viewport, rules, { pages, lists }) => {
  const context = await browser.newContext({ colorScheme, viewport });
  await context.addInitScript({ path: axe });
  const tab = await watched(context);
  const end = `${colorScheme}${viewport.width < 600 ? "-narrow" : ""}`;
  for (const [name, address] of pages) {
    await tab.page.goto(base + address);
    await inspect(tab, `${name}-${end}`, rules);
  }
  for (const list of lists) {
    await tab.page.goto(`${base}/browse/${list}`);
    await tab.page.locator(".row h3 a").first().click();
    await tab.page.waitForURL(`**/browse/${list}/*`);
    await inspect(tab, `record-of-${list}-${end}`, rules);
  }
  await context.close();
};

const count = async (page) => Number((await page.locator(".count strong").innerText()).replace(/\D/g, ""));

// Types a search, and takes the second suggestion with the keyboard.
const complete = async (browser) => {
  const context = await browser.newContext({ colorScheme: "light" });
  await context.addInitScript({ path: axe });
  const tab = await watched(context);
  const { page } = tab;
  await page.goto(`${base}/browse`);
  const box = page.getByRole("combobox", { name: /Search everything/ });
  await box.pressSequentially("univ", { delay: 20 });
  await page.getByRole("option").nth(1).waitFor();
  assert.strictEqual(await box.getAttribute("aria-expanded"), "true");
  await box.press("ArrowDown");
  await box.press("ArrowDown");
  const chosen = page.locator(`#${await box.getAttribute("aria-activedescendant")}`);
  assert.strictEqual(await chosen.getAttribute("aria-selected"), "true");
  const name = await chosen.locator("span").first().innerText();
  await inspect(tab, "suggestions-light", EVERYTHING);
  await box.press("Escape");
  assert.strictEqual(await page.locator("#suggestions-query").isVisible(), false);
  await box.fill("");
  await box.pressSequentially("univ", { delay: 20 });
  await page.getByRole("option").nth(1).waitFor();
  await box.press("ArrowDown");
  await box.press("ArrowDown");
  await box.press("Enter");
  await page.waitForURL("**/browse/*/*");
  assert.strictEqual(await page.getByRole("heading", { level: 1 }).innerText(), name);
  assert.ok((await page.locator(".data code").innerText()).includes(`curl -s "${base}/`));
  assert.deepStrictEqual(tab.problems, []);
  await context.close();
};

// Adds a filter, follows a group, removes both, with or without JavaScript.
const refine = async (browser, javaScriptEnabled) => {
  const context = await browser.newContext({ colorScheme: "dark", javaScriptEnabled });
  const { page, problems } = await watched(context);
  await page.goto(`${base}/browse`);
  await page.getByRole("navigation", { name: "Lists" }).getByRole("link", { name: "Outputs" }).click();
  await page.waitForURL("**/browse/outputs");
  const all = await count(page);
  await page.getByText("More filters").click();
  await page.getByLabel("Add a filter").selectOption("type");
  await page.getByLabel("with the value").fill("article");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.waitForURL(/filter=type:article$/);
  const articles = await count(page);
  assert.ok(articles > 0 && articles < all, `${articles} of ${all}`);
  await page.locator(".group a").first().click();
  await page.waitForURL(/filter=type:article,/);
  assert.ok((await count(page)) <= articles);
  assert.strictEqual(await page.locator(".chips .cross").count(), 2);
  await picture(page, `refined-${javaScriptEnabled ? "script" : "no-script"}`);
  await page.locator(".chips a").nth(1).click();
  await page.waitForURL(/filter=type:article$/);
  assert.strictEqual(await count(page), articles);
  await page.locator(".chips a").first().click();
  await page.waitForURL("**/browse/outputs");
  assert.strictEqual(await count(page), all);
  await page.getByRole("searchbox").or(page.getByRole("combobox", { name: /Search/ })).first().fill("univ");
  await page.getByRole("button", { name: "Search" }).click();
  await page.waitForURL("**/browse/outputs?search=univ");
  await page.getByRole("link", { name: "The same words in all lists" }).click();
  await page.waitForURL("**/browse/search?query=univ");
  await page.locator(".row h3 a").first().click();
  await page.waitForURL("**/browse/*/*");
  assert.deepStrictEqual(problems, []);
  await context.close();
};

// Filters by a name, which a script completes and the server finds without one.
const name = async (browser, javaScriptEnabled) => {
  const context = await browser.newContext({ javaScriptEnabled });
  const { page, problems } = await watched(context);
  await page.goto(`${base}/browse/outputs`);
  const box = page.getByLabel("Institution", { exact: true });
  if (javaScriptEnabled) {
    await box.pressSequentially("univ", { delay: 20 });
    await page.locator(".suggestions li").first().waitFor();
    await box.press("ArrowDown");
    await box.press("Enter");
    await page.waitForURL(/filter=authors.affiliations.id:HX_I/);
  } else {
    await box.fill("univ");
    await box.press("Enter");
    await page.waitForURL(/with.authors.affiliations.id=univ/);
    await page.getByText("is taken as").waitFor();
  }
  assert.strictEqual(await page.locator(".chips .cross").count(), 1);
  assert.deepStrictEqual(problems, []);
  await context.close();
};

// On a phone, filters are folded above the list.
const fold = async (browser) => {
  const context = await browser.newContext({ viewport: { width: 390, height: 800 }, javaScriptEnabled: false });
  const { page, problems } = await watched(context);
  await page.goto(`${base}/browse/outputs`);
  const form = page.getByRole("group", { name: "Filters", exact: true });
  assert.strictEqual(await form.isVisible(), false);
  await page.getByText("Filters and counts").click();
  assert.strictEqual(await form.isVisible(), true);
  const [above, below] = [await form.boundingBox(), await page.locator(".rows").boundingBox()];
  assert.ok(above.y < below.y);
  assert.deepStrictEqual(problems, []);
  await context.close();
};

// The documentation follows the colour scheme, and has no critical fault.
const docs = async (browser) => {
  const context = await browser.newContext({ colorScheme: "dark" });
  await context.addInitScript({ path: axe });
  const { page } = await watched(context);
  await page.goto(`${base}/docs`);
  await page.locator(".opblock").first().waitFor();
  await picture(page, "docs-dark");
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const faults = violations.filter(({ id, impact }) => impact === "critical" || id === "color-contrast");
  const said = faults.map(({ id, nodes }) => `${id} ${nodes.length}: ${nodes[0].html} ${nodes[0].failureSummary}`);
  assert.deepStrictEqual(said, [], "docs");
  await context.close();
};

// The first press of the tabulator leads to the content.
const skip = async (browser) => {
  const context = await browser.newContext();
  const { page, problems } = await watched(context);
  await page.goto(`${base}/`);
  assert.strictEqual(page.url(), `${base}/browse`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.strictEqual(await page.evaluate(() => document.activeElement.id), "content");
  assert.deepStrictEqual(problems, []);
  await context.close();
};

const run = async () => {
  if (pictures) {
    fs.mkdirSync(pictures, { recursive: true });
  }
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  try {
    await Promise.all([
      openAll(browser, "light", { width: 1280, height: 800 }, EVERYTHING, ALL),
      openAll(browser, "dark", { width: 1280, height: 800 }, COLOURS, ONE_EACH),
      openAll(browser, "light", { width: 390, height: 800 }, PLACES, ALL),
    ]);
    await complete(browser);
    await refine(browser, true);
    await refine(browser, false);
    await name(browser, true);
    await name(browser, false);
    await fold(browser);
    await docs(browser);
    await skip(browser);
  } finally {
    await browser.close();
  }
  console.log("all is well");
};

run().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
