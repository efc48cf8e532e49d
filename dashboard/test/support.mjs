// A real browser for tests of the page, and results to show in it.
//
// Needs Chromium (CHROMIUM, or /usr/bin/chromium). Without one the tests are left out loudly, and fail where CI is set.
// Pictures are kept in target/screenshots.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../../", import.meta.url));
const template = readFileSync(join(root, "crates/serve/src/report/page.html"), "utf8");
export const screenshots = join(root, "target/screenshots");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const present = existsSync(executablePath);
if (!present) {
  const sentence = `SKIPPED: the page was not tried in a browser: there is no Chromium at ${executablePath}`;
  if (process.env.CI) throw new Error(sentence);
  console.error(sentence);
}

export const options = { skip: !present };
let browser;
let folder;
before(async () => {
  if (!present) return;
  browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
  folder = mkdtempSync(join(tmpdir(), "hotset-page-"));
  mkdirSync(screenshots, { recursive: true });
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** A row as `hotset simulate --json` writes it. */
export function row(policy, size, hits, more = {}) {
  const references = 100_000;
  const counts = { references, hits, misses: references - hits, hit_ratio: hits / references };
  return { version: 1, trace: "traces/app.hst", policy, size_blocks: size, size_bytes: size * 4096, block_bytes: 4096, seed: 1,
    requests: 40_000, request_misses: 30_000, read_requests: 20_000, read_request_misses: 15_000, distinct_blocks: 60_000, ...counts, ...more };
}

export const SIZES = [1000, 2500, 6000, 14_000, 40_000];
export const HITS = {
  lru: [10_017, 22_222, 31_003, 44_444, 61_009],
  arc: [15_001, 27_777, 39_999, 48_123, 60_001],
  opt: [31_416, 42_718, 55_555, 61_803, 70_711],
};

/** Three schemes at five sizes. */
export function usual(more = {}) {
  return Object.entries(HITS).flatMap(([policy, hits]) => SIZES.map((size, at) => row(policy, size, hits[at], more)));
}

function write(rows, more = {}) {
  const data = { version: 1, hotset: "0.0.0", command: "hotset simulate app.hst", traces: [{ name: "traces/app.hst" }], rows, ...more };
  const safe = JSON.stringify(data).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
  const path = join(folder, `${Math.random().toString(36).slice(2)}.html`);
  writeFileSync(path, template.replace("@HOTSET_REPORT@", () => safe));
  return `file://${path}`;
}

/** An empty page. */
export function newPage({ width = 1200, dark = false } = {}) {
  return browser.newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light" });
}

/** Opens a page, and checks in the end that nothing went wrong and nothing was asked for. */
export async function open(rows, use, { width = 1200, dark = false, more } = {}) {
  const page = await newPage({ width, dark });
  const [wrong, asked] = [[], []];
  page.on("console", (message) => wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  const url = write(rows, more);
  await page.goto(url);
  await page.waitForSelector("section .facts");
  if (rows.length > 0 || more?.pattern) await page.waitForSelector("[data-scales], .bars");
  await use(page);
  assert.deepEqual(wrong, [], "nothing is wrong in the console");
  assert.deepEqual(asked.filter((other) => other !== url && !other.startsWith("data:")), [], "no request leaves the page");
  await page.close();
}

/** Where a value lies in a chart, from what the chart says of its axes. */
export function placeOf({ x, y, log, area }, size, value) {
  const [left, top, width, height] = area;
  const way = log ? Math.log(size / x[0]) / Math.log(x[1] / x[0]) : (size - x[0]) / (x[1] - x[0]);
  // The last pixel before the edge is still inside.
  return { x: Math.min(left + way * width, left + width - 1), y: top + height * (1 - (value - y[0]) / (y[1] - y[0])) };
}

export const chart = (page) => page.locator(".curves [data-scales]");
export const scales = async (page) => JSON.parse(await chart(page).getAttribute("data-scales"));

/** The text beside a point, and the colour of the picture there. */
export async function look(page, at) {
  await chart(page).hover({ position: at });
  const tip = await page.locator(".curves .tip").innerText();
  const colour = await page.locator(".curves canvas").evaluate((canvas, { x, y }) => {
    const ratio = canvas.width / canvas.clientWidth;
    // Read from a copy of the one pixel: reading the picture itself again and again makes the browser complain.
    const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    pixel.drawImage(canvas, -Math.round(x * ratio), -Math.round(y * ratio));
    return [...pixel.getImageData(0, 0, 1, 1).data];
  }, at);
  return { tip, colour };
}

/** What is in a trace of so many references, `stride` blocks apart in a grid of 1024 times 512 points, folded as the command does. */
export function inspected(references, blocks, kinds, points) {
  const bins = [{ from: 1, to: 1, references: 10 }, { from: 2, to: 3, references: 30 }];
  const share = (name) => ({ name, requests: 5, references: 20, bytes_read: 3072, bytes_written: 1024 });
  const seen = { version: 1, trace: "t.hst", format: "hst", requests: 50, failed_requests: 0, references, distinct_blocks: blocks, block_bytes: 4096, footprint_bytes: blocks * 4096,
    operations: [{ name: "read", requests: 50, failed: 0, bytes: 4096 }], request_sizes: { min: 1, max: 9, median: 5, mean: 5, bins: [{ from: 4, to: 8, requests: 50 }] },
    reuse: { first_uses: references - 40, bins }, kinds: kinds.map(share), apps: { total: 30, top: kinds.map(share) }, ranked: { by: "dir", total: 30, top: kinds.map(share) },
    files: { total: 1, top: [{ path: kinds[0], kind: "datafile", references: 7, share: 0.07, read_requests: 1, write_requests: 2 }] } };
  const fold = (length, limit) => 2 ** Math.max(0, Math.ceil(Math.log2(length / limit)));
  const pattern = { references, blocks, columns: 1024, references_per_column: fold(references, 1024), blocks_per_row: fold(blocks, 512),
    kinds: kinds.map((name, at) => ({ name, points: points[at] })) };
  return { inspection: seen, pattern };
}
