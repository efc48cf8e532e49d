// What applications were promised, and what to do next: told in words, whatever colours there are.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

import { inspected, open, options, placeOf, row, screenshots, SIZES, usual } from "./support.mjs";

const NAMES = { kept: "met", broken: "missed" };

/** An application of a row, promised 60 %. */
function app(name, hits, more = {}) {
  const references = 1000;
  return { name, references, hits, misses: references - hits, hit_ratio: hits / references, room_blocks: 302, flagged: false, promised: 0.6, promise_met: hits >= 600, ...more };
}

/** Two applications with promises, one without, and two with a handful of references, at each size. */
function shared(sizes = SIZES) {
  const few = [["few", 99], ["fewer", 3]].map(([name, references]) => ({ name, references, hits: 1, misses: references - 1, hit_ratio: 1 / references }));
  return sizes.map((size, at) => {
    const missed = at === 0 ? { flagged: true, needs_blocks: 1309, missed_since_seconds: 6.6 } : at === 1 ? { flagged: true, missed_since_references: 4711 } : { needs_blocks: 300 };
    const apps = [app(NAMES.kept, 700), app(NAMES.broken, 590, missed), { ...app("none", 500), promised: undefined, promise_met: undefined, references: 900 }, ...few];
    return row("qos(lru,met=60%,missed=60%)", size, 50_000, { apps });
  });
}

const panelOf = (page, name) => page.locator(".panels > div", { has: page.locator("h4", { hasText: new RegExp(`^${name}$`) }) });

test("panels of applications show promises, and say in words whether they were met, since when not, and why", options, async () => {
  for (const [width, dark] of [[1200, false], [390, true]]) {
    await open(shared(), async (page) => {
      const kept = await panelOf(page, NAMES.kept).locator(".promises li").allInnerTexts();
      assert.deepEqual(kept, ["promised 60.00 % by qos(lru,met=60%,missed=60%)", "✓ met at 3.91M, 9.77M, 23.4M, 54.7M, 156M"]);
      const broken = await panelOf(page, NAMES.broken).locator(".promises li").allInnerTexts();
      assert.deepEqual(broken.slice(1, 4), [
        "✗ 3.91M: missed since 6.6 s: needs 1,309 blocks, has 302 (hits 59.00 %)",
        "✗ 9.77M: missed since reference 4,711: no size is known to do, has 302 (hits 59.00 %)",
        "✗ 23.4M: missed: has 302, and 300 blocks were taken to be enough (hits 59.00 %)",
      ]);
      assert.equal(await panelOf(page, "none").locator(".promises").count(), 0);
      // The line lies at 60 %: the tip there tells it, and there is ink in dots.
      const box = panelOf(page, NAMES.kept).locator("[data-scales]");
      await box.scrollIntoViewIfNeeded();
      const at = placeOf(JSON.parse(await box.getAttribute("data-scales")), SIZES[0] * 4096, 0.6);
      await box.hover({ position: at });
      assert.match(await panelOf(page, NAMES.kept).locator(".tip").innerText(), /promised 60\.00 %/);
      const inks = await box.locator("canvas").evaluate((canvas, { y, from, to }) => {
        const ratio = canvas.width / canvas.clientWidth;
        const row = Object.assign(document.createElement("canvas"), { width: canvas.width, height: 1 }).getContext("2d");
        row.drawImage(canvas, 0, -Math.round(y * ratio));
        const { data } = row.getImageData(0, 0, canvas.width, 1);
        return Array.from({ length: Math.floor((to - from) * ratio) }, (_, x) => data[4 * (x + Math.ceil(from * ratio)) + 3] > 100);
      }, { y: at.y, from: at.x + 4, to: at.x + 120 });
      assert.ok(inks.filter(Boolean).length > 20 && inks.filter((ink) => !ink).length > 20, "a dotted line");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.screenshot({ path: join(screenshots, `promises-${width}.png`), fullPage: true });
    }, { width, dark });
  }
});

test("bars and charts over time have marks where promises are", options, async () => {
  const rows = shared(SIZES.slice(0, 1));
  const series = [10, 20, 30].map((end) => ({ version: 1, kind: "series", trace: "traces/app.hst", policy: rows[0].policy, size_blocks: SIZES[0], end_seconds: end, app: NAMES.broken, references: 200, hits: 5 * end, resident_blocks: 9, repartitions: 0 }));
  await open(rows, async (page) => {
    const marks = page.locator(".panels .reach");
    assert.deepEqual(await marks.evaluateAll((all) => all.map((one) => [parseFloat(one.style.left), one.title])), Array(2).fill([60, "promised 60.00 %"]));
    assert.match(await panelOf(page, NAMES.broken).innerText(), /✗ 3\.91M: missed since 6\.6 s/);
    const box = page.locator(".time [data-scales]").first();
    await box.hover({ position: placeOf({ ...JSON.parse(await box.getAttribute("data-scales")), log: false }, 30, 0.6) });
    assert.match(await page.locator(".time .tip").first().innerText(), /promised to missed\n60\.00 %/);
  }, { more: { series } });
});

test("applications with a handful of references fold, and open by keyboard; those with a promise never do", options, async () => {
  await open(shared(), async (page) => {
    const names = () => page.locator(".panels h4").allInnerTexts();
    assert.deepEqual(await names(), [NAMES.kept, NAMES.broken, "none"]);
    const summary = page.locator(".few summary");
    assert.equal(await summary.innerText(), "2 with fewer than 100 references: few, fewer");
    await summary.focus();
    await page.keyboard.press("Enter");
    await page.locator(".few [data-scales]").first().waitFor();
    assert.deepEqual((await names()).slice(3), ["few", "fewer"]);
    assert.ok((await page.locator(".few canvas").first().boundingBox()).width > 100);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    assert.equal((await names()).length, 5, "opened twice, drawn once");
  });
  const promised = shared().map((one) => ({ ...one, apps: one.apps.map((app) => ({ ...app, references: 10 })) }));
  await open(promised, async (page) => assert.deepEqual(await page.locator(".panels h4").allInnerTexts(), [NAMES.kept, NAMES.broken]));
  const all = usual({ apps: [{ ...row("x", 1, 5), name: "only", references: 50 }] });
  await open(all, async (page) => assert.equal(await page.locator(".few").count(), 0, "what is all there is does not fold"));
});

/** What is said next, with each command as the words that a shell makes of it. */
async function steps(page) {
  assert.equal(await page.locator("main > section").last().locator("h2").innerText(), "How this was made");
  assert.equal(await page.locator(".next").locator("h2, h3").first().innerText(), "What to do next");
  const lines = await page.locator(".steps code").evaluateAll((all) => all.map((one) => one.textContent));
  return lines.map((line) => execFileSync("sh", ["-c", `for word in ${line}; do printf '%s\\n' "$word"; done`], { encoding: "utf8" }).trimEnd().split("\n"));
}

test("each page says what to do next, as commands that a shell takes", options, async () => {
  const trace = "/tmp/it's $(a) <trace>.csv";
  const reading = ["--format", "csv", "--app", "a b"];
  const ours = (rows) => rows.map((one) => ({ ...one, trace }));
  await open(ours(usual()), async (page) => {
    const told = await steps(page);
    assert.deepEqual(told[0], ["hotset", "advise", trace, ...reading, "--report", "advice.html"]);
    assert.deepEqual(told.map(([, name]) => name), ["advise", "inspect"]);
  }, { more: { reading } });
  await open(ours(shared(SIZES.slice(0, 1))), async (page) => {
    const told = await steps(page);
    assert.deepEqual(told[1], ["hotset", "simulate", trace, "--policy", "qos(lru,met=60%,missed=60%)", "--size", "1000 blocks", "--series", "series.jsonl", "--report", "series.html"]);
    assert.deepEqual(told[2].slice(1), ["simulate", trace, "--policy", "qos(lru,met=60%,missed=60%)", "--size", "1%..100%*2", "--report", "sizes.html"]);
  });
  const memory = usual({ faults_per_million_references: 5 });
  await open(memory, async (page) => assert.deepEqual((await steps(page)).map(([, name]) => name), ["simulate"], "advice is not for pages of memory"));
  await open(usual({ trace: "-" }), async (page) => assert.equal((await steps(page))[0][2], "TRACE", "what has gone by is not named"));
  await open([], async (page) => {
    assert.deepEqual((await steps(page)).map(([, name, path]) => [name, path]), [["advise", "t.hst"], ["simulate", "t.hst"], ["curve", "t.hst"]]);
  }, { more: inspected(10, 4, ["one"], [[0, 1]]) });
});

test("a page of advice says what the command says, and draws what it is read from", options, async () => {
  const hostile = "/a/<b>it's.hst";
  const sizes = [100, 200, 400].map((size_blocks, at) => ({ size_blocks, size_bytes: size_blocks * 4096, references: 2000, today_hits: 100 + 200 * at, hits: 150 + 200 * at, bound_hits: 300 + 200 * at }));
  const one = { version: 2, trace: hostile, reads: 1000, block_bytes: 4096, today: "linux", policy: "arc", bound: "opt", memory: { size_blocks: 200, size_bytes: 819_200, hits: 300 }, sizes,
    paragraphs: [`${hostile}: 1,000 reads.`, "Memory: 800K.", "Policy: arc."], steps: { next: ["hotset mount /a MOUNTPOINT --memory 1M --policy arc"], checks: ["hotset simulate t.hst"] } };
  for (const [width, dark] of [[1200, false], [390, true]]) {
    await open([], async (page) => {
      const text = await page.locator("main").innerText();
      for (const paragraph of one.paragraphs) assert.ok(text.includes(paragraph), paragraph);
      const box = page.locator("[data-scales]");
      await box.hover({ position: placeOf(JSON.parse(await box.getAttribute("data-scales")), 819_200, 0.35) });
      const tip = await page.locator(".tip").innerText();
      assert.match(tip, /800K[\s\S]*opt\n50\.00 %[\s\S]*arc\n35\.00 %[\s\S]*linux\n30\.00 %[\s\S]*350 hits of 1,000 reads, repeats left out/);
      assert.deepEqual((await steps(page)).map(([, name]) => name), ["mount", "simulate"]);
      const above = await page.evaluate(() => document.querySelector(".next").getBoundingClientRect().top < document.querySelector(".advice").getBoundingClientRect().top);
      assert.ok(above, "what to do comes before the reasons");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.screenshot({ path: join(screenshots, `advice-${width}.png`), fullPage: true });
    }, { width, dark, more: { advice: [one] } });
  }
});

test("a page of a trial begins with what to do, and tells what each candidate took", options, async () => {
  const gain = (steered, saved, half) => ({ kernel: 10, steered, saved, half });
  const candidates = [
    { name: "as it is", seconds: gain(10, 0, 0), read_bytes: { kernel: 1 << 30, steered: 1 << 30, saved: 0, half: 0 } },
    { name: "steer <lirs>", seconds: gain(6, 4, 0.25), read_bytes: { kernel: 1 << 30, steered: 1 << 29, saved: 1 << 29, half: 4096 } },
    { name: "memory 512M", seconds: gain(12, -2, 0.5) },
  ];
  const trial = { command: "./train <it>", memory_bytes: 1 << 28, rounds: 3, candidates, conclusion: "Use steer <lirs>: it saves 4.00 of 10.00 s.", permanent: "hotset steer /srv --policy lirs --memory 256M -- ./train" };
  for (const width of [1200, 390]) {
    await open([], async (page) => {
      assert.equal(await page.locator(".lede").innerText(), trial.conclusion);
      assert.equal(await page.locator(".next code").innerText(), trial.permanent);
      const seconds = page.locator("figure", { hasText: "Seconds" }).locator(".figure");
      assert.deepEqual(await seconds.allInnerTexts(), ["10 s", "6 s · saves 4 s ± 0.25 s", "12 s · saves -2 s ± 0.5 s"]);
      const read = page.locator("figure", { hasText: "Read from storage" }).locator(".figure");
      assert.deepEqual(await read.allInnerTexts(), ["1G", "512M · saves 512M ± 4K"]);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    }, { width, more: { trial } });
  }
  const uncounted = { ...trial, candidates: candidates.map(({ name, seconds }) => ({ name, seconds })), permanent: undefined };
  await open([], async (page) => {
    assert.equal(await page.locator("figure").count(), 1, "bytes that are not counted are not drawn");
    assert.equal(await page.locator(".next").count(), 0);
  }, { more: { trial: uncounted } });
});

test("everything that takes the keys has a name, in the order of the page", options, async () => {
  const { inspection, pattern } = inspected(10, 4, ["one"], [[0, 1]]);
  for (const [rows, more] of [[shared(), {}], [[], { inspection, pattern }]]) {
    await open(rows, async (page) => {
      const nameless = await page.locator("button, select, summary, [tabindex], a[href]").evaluateAll((all) =>
        all.filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length)).map((one) => one.outerHTML.slice(0, 80)));
      assert.deepEqual(nameless, []);
      const places = [];
      await page.locator("h1").click();
      for (let turn = 0; turn < 60; turn++) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => [...document.querySelectorAll("*")].indexOf(document.activeElement));
        if (at < (places.at(-1) ?? 0)) break;
        places.push(at);
      }
      const reachable = await page.evaluate(() => {
        const all = [...document.querySelectorAll("*")];
        return all.filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility()).map((one) => all.indexOf(one));
      });
      assert.deepEqual([...new Set(places)], reachable.slice(0, 60));
    }, { more });
  }
});
