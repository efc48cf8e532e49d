// Parts of pictures: chosen with the pointer, the keys and the buttons; and axes that say what they show.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { chart, HITS, inspected, look, open, options, placeOf, row, scales, screenshots, SIZES, usual } from "./support.mjs";

const BLOCK = 4096;

/** Where a range is, but for a pixel of `pixels` on an axis from 1000 to 40,000 blocks. */
function near(actual, expected, pixels = 600) {
  const slack = 40 ** (1.5 / pixels);
  actual.forEach((value, at) => assert.ok(value / expected[at] < slack && expected[at] / value < slack, `${actual} is not ${expected}`));
}

/** Holds the button down from one place to the other. */
async function drag(page, box, from, to) {
  await box.scrollIntoViewIfNeeded();
  const { x, y } = await box.boundingBox();
  await page.mouse.move(x + from.x, y + from.y);
  await page.mouse.down();
  await page.mouse.move(x + (from.x + to.x) / 2, y + (from.y + to.y) / 2, { steps: 3 });
  await page.mouse.move(x + to.x, y + to.y, { steps: 3 });
  await page.mouse.up();
}

/** Texts that pictures write from now on. */
async function written(page, act) {
  await page.evaluate(() => {
    globalThis.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      globalThis.written.push(text);
      return write.call(this, text, ...rest);
    };
  });
  await act();
  await page.waitForTimeout(100);
  return page.evaluate(() => globalThis.written);
}

const told = async (box) => JSON.parse(await box.getAttribute("data-scales"));

test("the pointer shows a part larger, in all charts of the trace, and two clicks show all", options, async () => {
  await open(usual({ apps: [{ ...row("x", 1, 50_000), name: "one" }] }), async (page) => {
    const whole = await scales(page);
    const [from, to] = [2000 * BLOCK, 20_000 * BLOCK];
    const panel = await told(page.locator(".panels [data-scales]").first());
    await drag(page, chart(page), placeOf(whole, from, 0.3), placeOf(whole, to, 0.4));
    const part = await scales(page);
    near(part.x, [from, to]);
    near((await told(page.locator(".saved [data-scales]"))).x, [from, to]);
    near((await told(page.locator(".panels [data-scales]").first())).x, [from, to]);
    assert.deepEqual((await told(page.locator(".panels [data-scales]").first())).y, panel.y, "panels stay on one scale");
    assert.ok(part.y[0] > whole.y[0] + 0.05 && part.y[1] < whole.y[1], `values fill the axis: ${part.y} of ${whole.y}`);
    // Points lie where the axes say, and lines reach the edges though their next points are outside.
    const { tip, colour } = await look(page, placeOf(part, SIZES[2] * BLOCK, HITS.arc[2] / 100_000));
    assert.ok(tip.includes("39,999 hits of 100,000") && colour[3] > 0, tip);
    const between = (at, size) => HITS.arc[at] + ((HITS.arc[at + 1] - HITS.arc[at]) * Math.log(size / SIZES[at])) / Math.log(SIZES[at + 1] / SIZES[at]);
    const edge = placeOf(part, part.x[1] / 1.03, between(3, part.x[1] / 1.03 / BLOCK) / 100_000);
    assert.ok((await look(page, edge)).colour[3] > 0, "the line goes on to the right edge");
    const status = page.locator(".curves [role=status]");
    assert.match(await status.innerText(), /^Shown: 7\.\d+M to 7\d\.?\d*M\.$/);
    await page.screenshot({ path: join(screenshots, "zoomed.png"), fullPage: true });
    await chart(page).dblclick({ position: { x: 300, y: 100 } });
    assert.deepEqual([await scales(page), await page.getByRole("button", { name: "Show all of it" }).first().isDisabled()], [whole, true]);
  });
});

test("two fingers show a part larger and take it along, one moves it, and scrolls where all is shown", options, async () => {
  await open(usual(), async (page) => {
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setTouchEmulationEnabled", { enabled: true });
    const box = chart(page);
    await box.scrollIntoViewIfNeeded();
    const whole = await scales(page);
    const { x, y } = await box.boundingBox();
    const [left, top, width] = whole.area;
    const touch = (type, ...shares) => session.send("Input.dispatchTouchEvent", {
      type, touchPoints: shares.map((share, id) => ({ id, x: x + left + share * width, y: y + top + 100 })),
    });
    // What lies at a share of the axis, from the least to the greatest size.
    const value = (share) => whole.x[0] * (whole.x[1] / whole.x[0]) ** share;
    await touch("touchStart", 0.4, 0.6);
    await touch("touchMove", 0.3, 0.7);
    await touch("touchMove", 0.2, 0.8);
    await touch("touchEnd");
    near((await scales(page)).x, [value(1 / 3), value(2 / 3)], 300);
    await touch("touchStart", 0.8);
    await touch("touchMove", 0.6);
    await touch("touchMove", 0.2);
    await touch("touchEnd");
    near((await scales(page)).x, [value(1 / 3 + 0.2), value(2 / 3 + 0.2)], 300);
    await touch("touchStart", 0.1, 0.9);
    await touch("touchMove", 0.3, 0.7);
    await touch("touchMove", 0.48, 0.52);
    await touch("touchEnd");
    assert.deepEqual((await scales(page)).x, whole.x, "no more than all of it");
    await touch("touchStart", 0.8);
    await touch("touchMove", 0.2);
    await touch("touchEnd");
    assert.deepEqual((await scales(page)).x, whole.x, "one finger does nothing to all of it");
  });
});

test("the keys show a part larger, move it, choose a range and show all", options, async () => {
  await open(usual(), async (page) => {
    const whole = await scales(page);
    const height = () => page.evaluate(() => document.documentElement.scrollHeight);
    const before = await height();
    assert.match(await chart(page).getAttribute("aria-label"), /Plus and minus zoom, .*Enter at two places/);
    await chart(page).focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    await page.keyboard.press("+");
    const [low, high] = whole.x;
    const at = SIZES[2] * BLOCK;
    near((await scales(page)).x, [Math.sqrt(at * low), Math.sqrt(at * high)], 4000);
    assert.match(await page.locator(".curves .tip").innerText(), /31,003 hits/, "the reader still looks at the same point");
    await page.keyboard.press("Shift+ArrowRight");
    const quarter = (high / low) ** 0.125;
    near((await scales(page)).x, [Math.sqrt(at * low) * quarter, Math.sqrt(at * high) * quarter], 4000);
    for (let turn = 0; turn < 9; turn++) await page.keyboard.press("Shift+ArrowRight");
    near((await scales(page)).x, [Math.sqrt(low * high), high], 4000);
    await page.keyboard.press("0");
    assert.deepEqual(await scales(page), whole);
    await page.keyboard.press("Escape");
    for (const key of ["ArrowRight", "ArrowRight", "Enter", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    assert.match(await page.locator(".curves .tip").innerText(), /A range begins/);
    await page.keyboard.press("Enter");
    near((await scales(page)).x, [SIZES[1] * BLOCK, SIZES[3] * BLOCK], 4000);
    await page.keyboard.press("ArrowRight");
    near([(await scales(page)).x[1] / (await scales(page)).x[0]], [SIZES[3] / SIZES[1]], 4000);
    assert.ok((await scales(page)).x[1] >= SIZES[4] * BLOCK * 0.999, "a point outside comes into view");
    assert.match(await page.locator(".curves .tip").innerText(), /61,009 hits/);
    assert.equal(await height(), before, "and nothing moves");
    // The buttons come next, with names.
    for (const [name, enabled] of [["Zoom in", true], ["Zoom out", true], ["Show all of it", true]]) {
      await page.keyboard.press("Tab");
      assert.deepEqual(await page.evaluate(() => [document.activeElement.ariaLabel, !document.activeElement.disabled]), [name, enabled]);
    }
    await page.keyboard.press("Enter");
    assert.deepEqual(await scales(page), whole);
    await page.getByRole("button", { name: "Zoom in" }).first().click();
    near((await scales(page)).x, [low * (high / low) ** 0.25, low * (high / low) ** 0.75], 4000);
    await page.getByRole("button", { name: "Zoom out" }).first().click();
    assert.deepEqual(await scales(page), whole);
  }, { width: 390 });
});

test("axes begin where data is, with titles and units", options, async () => {
  const high = usual().map((one, at) => ({ ...one, hits: 95_000 + 10 * at, misses: 5000 - 10 * at, hit_ratio: 0.95 + 1e-4 * at }));
  for (const [rows, begins, x] of [[usual(), (y) => y === 0, "Cache size in bytes (1K = 1024)"],
    [high.map(({ size_bytes: _, block_bytes: __, ...rest }) => rest), (y) => y > 0.94 && y < 0.95, "Cache size in blocks"]]) {
    await open(rows, async (page) => {
      const axis = page.getByLabel("Size axis");
      const texts = await written(page, () => axis.selectOption({ index: 1 }));
      const { x: shown, y } = await scales(page);
      assert.equal(shown[0], SIZES[0] * (rows[0].size_bytes ? BLOCK : 1), "a linear axis begins with the least size");
      assert.ok(begins(y[0]), `${y}`);
      assert.ok(texts.includes(x) && texts.includes("Hit ratio of references, %"), `${texts}`);
    });
  }
  const { inspection, pattern } = inspected(10, 4, ["one"], [[0, 1]]);
  await open([], async (page) => {
    const texts = await written(page, () => page.setViewportSize({ width: 900, height: 900 }));
    assert.ok(texts.includes("References, in the order of the trace") && texts.includes("Blocks, in the order of their first reference"), `${texts}`);
  }, { more: { inspection, pattern } });
});

test("the picture of references tells files and offsets, and shows a part of itself", options, async () => {
  // 200 blocks, two a row. Of the third row one block is of another file than the rest, and one of files that are not named.
  const hostile = `/a/<b>${"d".repeat(200)}/'x.db`;
  const rows = Array.from({ length: 100 }, (_, at) => [0, 2 * at, 2 * at + 1, 2]);
  rows[2] = [1, 7, 7, 1];
  const { inspection, pattern } = inspected(1024, 200, ["one"], [[2 * 1024 + 4, 3, 68 * 1024, 5]]);
  await open([], async (page) => {
    const box = page.locator(".pattern [data-scales]");
    const tip = page.locator(".pattern .tip");
    const lines = async () => (await tip.innerText()).split("\n").map((line) => line.trim()).filter(Boolean);
    const middle = async (reference, block) => placeOf({ ...(await told(box)), log: false }, reference + 0.5, block + 1);
    await box.hover({ position: await middle(4, 140) });
    assert.deepEqual(await lines(), ["reference 5", "block 141 to 142", "one", "5", "/data/base.db bytes 573,440 to 581,631"]);
    await box.hover({ position: await middle(4, 4) });
    const [, , , , place, rest] = await lines();
    assert.match(place, /^…d+\/'x\.db bytes 28,672 to 32,767$/);
    assert.equal(rest, "1 block of other files");
    assert.equal(await page.locator(".pattern .tip bdi").last().getAttribute("title"), hostile);
    await box.focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowRight");
    assert.deepEqual((await lines()).slice(0, 2), ["reference 1", "block 1 to 2"]);
    assert.equal((await lines()).at(-1), "/data/base.db bytes 0 to 8,191", "the keys tell it as well");
    await drag(page, box, await middle(2, 130), await middle(60, 160));
    const { x, y } = await told(box);
    assert.ok(Math.abs(x[0] - 2.5) < 2 && Math.abs(x[1] - 60.5) < 2 && Math.abs(y[0] - 131) < 2 && Math.abs(y[1] - 161) < 2, `${x} ${y}`);
    const ink = (at) => box.locator("canvas").evaluate((canvas, { x, y }) => {
      const one = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
      const ratio = canvas.width / canvas.clientWidth;
      one.drawImage(canvas, -Math.round(x * ratio), -Math.round(y * ratio));
      return one.getImageData(0, 0, 1, 1).data[3];
    }, at);
    assert.ok((await ink(await middle(4, 140))) > 100, "the point is where the axes say");
    assert.ok((await ink(await middle(7, 140))) < 60 && (await ink(await middle(4, 150))) < 60, "and nowhere else");
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowRight");
    assert.match((await lines())[0], /^reference [3-5]$/, "the keys begin in the part that is shown");
    await page.screenshot({ path: join(screenshots, "pattern-zoomed.png") });
    await page.keyboard.press("0");
    assert.deepEqual((await told(box)).x, [0, 1024]);
  }, { more: { inspection, pattern: { ...pattern, blocks_per_row: 2, places: { files: ["/data/base.db", hostile], rows } } } });
});
