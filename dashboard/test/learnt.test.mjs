// What schemes have learnt: told in words, with a curve that has words, too.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { open, options, row, screenshots, SIZES } from "./support.mjs";

/** Nobody else's markup. */
const HOSTILE = "<img src=x onerror=alert(1)>.dat";

function flow(more) {
  return { app: "psql", files: ".dat files", came: "first use, in sequence", room_percent: 2, references_percent: 3.5, reuse: [[0, 0], [1, 0.25], [2, 0.5], [3, 0.5], [4, 0.001], [8, 0]], treatment: "let_pass", ...more };
}

function rows() {
  const flows = [
    flow({ file: HOSTILE, treatment: { keep_for: 4711 } }),
    flow({ files: undefined, treatment: "keep" }),
    flow({ files: undefined, app: undefined, treatment: "keep_some", reuse: [] }),
    ...Array.from({ length: 11 }, (_, at) => flow({ file: `f${at}` })),
  ];
  return SIZES.flatMap((size, at) => [row("auto", size, 20_000, { explained: flows.slice(at) }), row("lru", size, 10_000)]);
}

test("what a scheme has learnt is told of each of its sizes, the rest in sum", options, async () => {
  for (const [width, dark] of [[1200, false], [390, true]]) {
    await open(rows(), async (page) => {
      const figure = page.locator("figure.learnt");
      const chosen = figure.locator("select");
      assert.equal(await chosen.locator("option").count(), SIZES.length, "lru tells nothing");
      await chosen.selectOption({ index: 0 });
      const cells = (line) => figure.locator(`tbody tr:nth-child(${line}) td`).allInnerTexts();
      assert.deepEqual(await cells(1), [HOSTILE, "first use, in sequence", "2.0 %", "3.5 %", "", "keeps them for 4,711 references"]);
      assert.deepEqual([(await cells(2))[0], (await cells(2)).at(-1)], ["other blocks of psql", "keeps them until they are used"]);
      assert.deepEqual([(await cells(3))[0], (await cells(3)).at(-1)], ["all other blocks", "keeps those that it has, lets others pass"]);
      assert.equal((await cells(4)).at(-1), "lets them pass");
      assert.equal(await figure.locator("tbody tr").count(), 12);
      assert.match(await figure.innerText(), /2 more, with 4\.0 % of the room and 7\.0 % of the references/);
      assert.match(await figure.locator("thead").innerText(), /Chance of use by age, 1 to 2/);
      // Ages 2 and 3 are one octave: 1 - (1 - 0.5) * (1 - 0.5).
      const told = (line) => figure.locator(`tbody tr:nth-child(${line}) svg`).getAttribute("aria-label");
      assert.equal(await told(1), "most likely 2 references after the last use, with a chance of 75.00 %");
      assert.equal(await told(3), "hardly ever used again");
      const heights = await figure.locator("tbody tr:nth-child(1) rect").evaluateAll((all) => all.map((one) => Number(one.getAttribute("height"))));
      assert.deepEqual(heights, [0.25 * 26, 0.75 * 26]);
      await chosen.selectOption({ index: 4 });
      assert.equal(await figure.locator("tbody tr").count(), 10);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.screenshot({ path: join(screenshots, `learnt-${width}.png`), fullPage: true });
    }, { width, dark });
  }
});

test("pages of schemes that tell nothing have no such part", options, async () => {
  await open(SIZES.map((size) => row("lru", size, 10_000)), async (page) => assert.equal(await page.locator(".learnt").count(), 0));
});
