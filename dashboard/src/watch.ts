// Caches that run on this machine, side by side: their recent hits and reads.

import { Chart, type Drawing, type Line } from "./chart.ts";
import { h, name } from "./dom.ts";
import { bytes, count, percent } from "./format.ts";
import { again, ask, type Seen, type Status } from "./server.ts";
import { colour, hue, HUES, onTheme } from "./theme.ts";

/** Seconds between two looks, and looks that are kept. */
const LOOK = 2;
const KEPT = 300;

/** What was seen of a cache, and when, in seconds since the page was opened. */
interface Sample {
  at: number;
  status: Status;
}

/** The kernel's pages. */
const PAGE = 4096;

function hits(status: Status): number {
  return status.hits ?? status.references - (status.misses ?? 0);
}

function bytesRead(status: Status): number {
  return status.bytes_read ?? PAGE * (status.pages_read ?? 0);
}

/** A table and a chart. */
export class Watch {
  readonly element: HTMLElement;
  private readonly body = h("div", {});
  private readonly chart: Chart;
  private readonly samples = new Map<string, Sample[]>();
  private looks = 0;

  constructor() {
    this.chart = new Chart(this.drawing(), 260);
    const caption = h("figcaption", {}, "Hit ratio between two looks, of caches that were asked for something.");
    const figure = h("figure", { class: "part" }, caption, this.chart.element);
    this.element = h("section", { id: "live" }, h("h2", {}, "What runs now"), this.body, figure);
    onTheme(() => this.chart.draw(this.drawing()));
    again(LOOK, () => this.look());
  }

  private async look(): Promise<void> {
    try {
      const seen = await ask<Seen>("live");
      if (seen.looks === this.looks) return;
      this.looks = seen.looks;
      this.take(seen);
    } catch (error) {
      this.body.replaceChildren(h("p", { class: "differs" }, `The server does not answer any more: ${String(error)}`));
    }
  }

  private take({ living }: Seen): void {
    const at = performance.now() / 1000;
    const before = new Map([...this.samples].map(([path, samples]) => [path, samples.at(-1)]));
    for (const path of this.samples.keys()) if (!living.some((one) => one.path === path)) this.samples.delete(path);
    for (const { path, status } of living) {
      const samples = this.samples.get(path) ?? [];
      // A cache that counts from the beginning again is another one.
      const goesOn = (samples.at(-1)?.status.references ?? 0) <= status.references;
      this.samples.set(path, [...(goesOn ? samples : []), { at, status }].slice(-KEPT));
    }
    this.element.querySelector("figure")!.hidden = living.length === 0;
    const none = h("p", { class: "soft" }, "No mount and no steering process of yours runs on this machine.");
    const rows = living.map(({ path, status }) => this.row(path, status, before.get(path), at));
    const columns = ["what", "does", "scheme", "memory", "references", "hit", "lately", "kernel alone, by a model", "read a second"].map((column) => h("th", { scope: "col" }, column));
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...columns)), h("tbody", {}, ...rows));
    this.body.replaceChildren(living.length === 0 ? none : h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Caches that run" }, table));
    this.chart.draw(this.drawing());
  }

  private row(path: string, now: Status, before: Sample | undefined, at: number): HTMLElement {
    const ratio = (hits: number, references: number) => (references > 0 ? percent(hits / references, 1) : "–");
    const lately = before === undefined ? "–" : ratio(hits(now) - hits(before.status), now.references - before.status.references);
    const read = before === undefined ? "–" : bytes(Math.max(0, bytesRead(now) - bytesRead(before.status)) / (at - before.at));
    const memory = now.memory_bytes ?? now.memory?.policy;
    const kernel = now.kernel_misses === undefined ? "–" : ratio(now.references - now.kernel_misses, now.references);
    const cells = [now.state ?? "mounted", now.policy, memory === undefined ? "–" : bytes(memory), count(now.references), ratio(hits(now), now.references), lately, kernel, read];
    return h("tr", {}, h("td", {}, name(path)), ...cells.map((cell) => h("td", {}, name(cell))));
  }

  private drawing(): Drawing {
    const now = performance.now() / 1000;
    const lines = [...this.samples].map(([path, samples], at): Line => {
      const points = samples.slice(1).flatMap((sample, before) => {
        const [one, other] = [samples[before]!.status, sample.status];
        const references = other.references - one.references;
        const hit = hits(other) - hits(one);
        return references > 0 ? [{ x: sample.at - now, y: hit / references, exact: `${count(hit)} hits of ${count(references)} references` }] : [];
      });
      const ink = at === 0 ? colour("--accent") : at <= HUES ? hue(at - 1) : colour("--faint");
      return { name: path, role: at === 0 ? "interest" : "coloured", colour: ink, shown: true, points };
    });
    return {
      label: "Hit ratio of each cache that runs, over the last minutes",
      titles: { x: "Seconds", y: "Hit ratio, %" },
      lines: lines.filter(({ points }) => points.length > 0),
      log: false,
      binary: false,
      share: true,
      showX: (seconds) => `${Math.round(-seconds)} s ago`,
      showY: (share) => percent(share, 1),
      tickY: (share) => `${Number((share * 100).toFixed(2))} %`,
    };
  }
}
