// The page of directories in a real browser, from the command itself: what is found, replayed and watched is what there is.
//
// Needs the command (HOTSET, or target/debug/hotset). Without it the tests are left out loudly, and fail where CI is set.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { newPage, options as browserOptions, screenshots } from "./support.mjs";

const hotset = process.env.HOTSET ?? fileURLToPath(new URL("../../target/debug/hotset", import.meta.url));
const present = existsSync(hotset);
if (!present) {
  const sentence = `SKIPPED: the page of directories was not tried: there is no command at ${hotset}`;
  if (process.env.CI) throw new Error(sentence);
  console.error(sentence);
}
const options = { skip: !present || browserOptions.skip };

let folder;
let server;
let address;
before(async () => {
  if (options.skip) return;
  folder = mkdtempSync(join(tmpdir(), "hotset-view-"));
  mkdirSync(join(folder, "deep"));
  const loop = Array.from({ length: 40 }, () => Array.from({ length: 100 }, (_, key) => key)).flat();
  writeFileSync(join(folder, "deep", "<b>loop&.ids"), loop.join("\n"));
  writeFileSync(join(folder, "notes.txt"), "this is neither");
  writeFileSync(join(folder, "server.pid"), "12345\n");
  writeFileSync(join(folder, "foreign.html"), "<html><script>document.title = 'broken'</script></html>");
  const made = spawnSync(hotset, ["simulate", join(folder, "deep", "<b>loop&.ids"), "-p", "lru,opt", "-s", "10 blocks,50 blocks", "--json", join(folder, "made.jsonl"), "--report", join(folder, "page.html")]);
  assert.equal(made.status, 0, String(made.stderr));
  server = spawn(hotset, ["view", folder, "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  address = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).split(" ")[0])));
});
after(() => {
  server?.kill("SIGINT");
  if (folder) rmSync(folder, { recursive: true });
});

/** Opens the page, and checks in the end that nothing went wrong and nobody else was asked. */
async function open(use) {
  const page = await newPage();
  const [wrong, asked] = [[], []];
  page.on("console", (message) => wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(address);
  await page.waitForSelector("#traces button");
  await use(page);
  assert.deepEqual(wrong, [], "nothing is wrong in the console");
  assert.deepEqual(asked.filter((url) => !url.startsWith(address) && !url.startsWith("data:")), [], "nobody else is asked");
  await page.close();
}

test("files are found by what they are, and results open", options, async () => {
  await open(async (page) => {
    assert.deepEqual(await page.locator("#results a").allInnerTexts(), ["made.jsonl"]);
    assert.deepEqual(await page.locator("#traces button").allInnerTexts(), ["deep/<b>loop&.ids"]);
    assert.deepEqual(await page.locator("#reports a").allInnerTexts(), ["page.html"]);
    await page.getByLabel("Names with").fill("nothing of that name");
    assert.equal(await page.locator("#library td").count(), 0);
    await page.getByLabel("Names with").fill("");
    await page.locator("#results a").click();
    await page.waitForSelector(".curves [data-scales]");
    assert.match(await page.locator("section .facts").innerText(), /made\.jsonl/);
  });
});

test("a report opens", options, async () => {
  await open(async (page) => {
    await page.locator("#reports a").click();
    await page.waitForSelector(".curves [data-scales]");
    assert.match(await page.locator("section .facts").innerText(), /hotset simulate/);
  });
});

test("a trace is replayed scheme by scheme, as the command says", options, async () => {
  await open(async (page) => {
    await page.locator("#traces button").click();
    await page.getByLabel("Schemes").fill("lru,lirs,opt");
    await page.getByLabel("Sizes").fill("10 blocks,50 blocks,90 blocks");
    await page.getByRole("button", { name: "Replay" }).click();
    await page.waitForFunction(() => document.querySelector(".runs")?.textContent.includes("done"));
    const rows = await page.locator("#results-of-replays tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.equal(rows.length, 9);
    // A loop over 100 keys, 40 times: lru hits nothing with fewer, opt all but first uses of what fits.
    const hits = (scheme) => Object.fromEntries(rows.filter(([policy]) => policy === scheme).map((row) => [row[1], row[3]]));
    assert.deepEqual([hits("lru"), hits("opt")], [{ 10: "0", 50: "0", 90: "0" }, { 10: "360", 50: "1,950", 90: "3,510" }]);
    const command = await page.locator(".runs code").innerText();
    assert.match(command, /^hotset simulate --policy=lru,lirs,opt '--size=10 blocks,50 blocks,90 blocks' -- '.*<b>loop&\.ids'$/);
    await page.screenshot({ path: join(screenshots, "live.png"), fullPage: true });
  });
});

test("what cannot be is told in the command's words, and a replay can be stopped", options, async () => {
  await open(async (page) => {
    const replay = async (schemes, sizes) => {
      await page.getByLabel("Schemes").fill(schemes);
      await page.getByLabel("Sizes").fill(sizes);
      await page.getByRole("button", { name: "Replay" }).click();
    };
    await replay("lrv", "10 blocks");
    await page.waitForFunction(() => document.querySelector("[role=alert]").textContent.includes("did you mean lru"));
    await replay("lru", "ten");
    await page.waitForFunction(() => document.querySelector("[role=alert]").textContent.includes("sizes:"));
    // On a busy machine the first answer is that the replay waits. Here it is until the button is held.
    let state = "waiting";
    await page.route(/run\?/, async (route) => {
      if (route.request().method() !== "GET") return route.continue();
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), ...(state && { state }) } });
    });
    // Everything, at so many sizes and of so long a trace that it takes minutes.
    const loop = Array.from({ length: 100 }, (_, key) => key).join("\n") + "\n";
    writeFileSync(join(folder, "deep", "long.ids"), loop.repeat(10_000));
    await page.locator("select option", { hasText: "deep/long.ids" }).waitFor({ state: "attached" });
    await page.locator("#replays select").first().selectOption("deep/long.ids");
    await replay("all", "1 block..100 blocks*1.02");
    // A button that is held while the line is drawn again, in longer words, is pressed all the same.
    const stop = page.getByRole("button", { name: "Stop" });
    await stop.hover();
    const place = await stop.boundingBox();
    await page.mouse.down();
    state = undefined;
    await page.waitForFunction(() => /\d of \d+ schemes/.test(document.querySelector(".runs").textContent));
    assert.deepEqual(await stop.boundingBox(), place, "the button stays where it is");
    await page.mouse.up();
    await page.waitForFunction(() => document.querySelector(".runs").textContent.includes("stopped after"));
    await page.unrouteAll({ behavior: "wait" });
    assert.equal(await page.locator("[role=alert]").innerText(), "");
  });
});

test("a mount that runs is watched", { skip: options.skip || !existsSync("/dev/fuse") }, async () => {
  const [source, mountpoint] = ["source", "mount point"].map((name) => join(folder, name));
  [source, mountpoint].forEach((path) => mkdirSync(path));
  writeFileSync(join(source, "file"), "x".repeat(100_000));
  const mount = spawn(hotset, ["mount", source, mountpoint, "--memory", "16M", "--policy", "lru"], { stdio: ["ignore", "ignore", "pipe"] });
  try {
    await new Promise((resolve) => mount.stderr.on("data", (data) => String(data).includes("is served") && resolve()));
    await open(async (page) => {
      for (let times = 0; times < 3; times++) {
        assert.equal(readFileSync(join(mountpoint, "file")).length, 100_000);
        await page.waitForTimeout(1500);
      }
      const row = page.locator("#live tbody tr", { hasText: mountpoint });
      await row.waitFor();
      assert.match(await row.innerText(), /lru.*16M/s);
      const { status } = (await page.evaluate(async () => (await fetch("live")).json())).living.find(({ path }) => path === mountpoint);
      assert.ok(status.hits > 0 && status.hits < status.references, JSON.stringify(status));
      const ratio = `${((100 * status.hits) / status.references).toFixed(1)} %`;
      await page.waitForFunction((ratio) => document.querySelector("#live tbody").textContent.includes(ratio), ratio);
    });
  } finally {
    mount.kill("SIGINT");
    await new Promise((resolve) => mount.once("exit", resolve));
  }
});

test("without the secret nobody gets anything", options, async () => {
  const asked = (path, method = "GET") => new Promise((resolve, reject) => {
    const { host } = new URL(address);
    get(`http://${host}${path}`, { method }, (answer) => resolve(answer.resume().statusCode)).on("error", reject);
  });
  const secret = new URL(address).pathname;
  assert.equal(await asked(secret), 200);
  assert.equal(await asked(`${secret}items`), 200);
  for (const path of ["/", "/items", "/live", `${secret.slice(0, -2)}/items`, `${secret}../items`, `${secret}run`, `${secret}results/../../etc/passwd`]) {
    assert.equal(await asked(path), 404, path);
  }
  assert.equal(await asked(`${secret}items`, "POST"), 404);
  assert.equal(await asked(`${secret}items`, "PUT"), 405);
});
