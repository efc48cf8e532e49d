// Which blocks are referenced when, by kind: a picture of points, as fast for millions of references as for a few.

import uPlot from "uplot";
import type { Pattern } from "./data.ts";
import { h, name } from "./dom.ts";
import { axes } from "./chart.ts";
import { brief, count } from "./format.ts";
import { colour, hue, onTheme } from "./theme.ts";

/** A kind of data with the points where it is referenced, and how often there. */
interface Layer {
  name: string;
  references: number;
  at: Uint32Array;
  counts: Uint32Array;
  shown: boolean;
}

const HEIGHT = 420;

/** A point with one reference is this opaque; one with the most is opaque. */
const FAINTEST = 0.6;

/** The figure. */
export function accessPattern(pattern: Pattern): HTMLElement {
  const picture = new Picture(pattern);
  return h(
    "figure",
    { class: "part pattern" },
    h("h3", {}, "Which blocks are referenced when"),
    h("figcaption", {}, "Each point is a block, or neighbouring ones, at a reference or neighbouring ones: the darker, the more references. Blocks are numbered in the order of their first reference: what is new climbs the upper edge, what lies below it is used again."),
    picture.element,
    picture.legend,
  );
}

class Picture {
  readonly element: HTMLElement;
  readonly legend = h("ul", { class: "legend", "aria-label": "Kinds: press to hide or show" });
  private readonly box: HTMLElement;
  private readonly tip = h("div", { class: "tip", hidden: "", "aria-live": "polite" });
  private readonly layers: Layer[];
  private readonly most: number;
  private plot: uPlot | undefined;
  private spot: [column: number, row: number] | undefined;

  constructor(private readonly pattern: Pattern) {
    this.layers = pattern.kinds.map(({ name, points }) => layer(name, points));
    this.layers.sort((a, b) => b.references - a.references);
    this.most = this.layers.reduce((most, { counts }) => counts.reduce((a, b) => Math.max(a, b), most), 1);
    this.box = h("div", { class: "plot", tabindex: "0", role: "application", style: `height:${HEIGHT}px`, "aria-label": "Blocks by time. Arrow keys go from place to place." });
    this.element = h("div", { class: "plot" }, this.box, this.tip);
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    this.box.addEventListener("blur", () => this.look(undefined));
    let width = 0;
    new ResizeObserver(() => {
      if (this.box.clientWidth === width) return;
      width = this.box.clientWidth;
      this.build();
    }).observe(this.box);
    onTheme(() => this.build());
    onTheme(() => this.fillLegend());
    this.fillLegend();
  }

  private build(): void {
    const width = this.box.clientWidth;
    if (width === 0) return;
    this.plot?.destroy();
    const { references, blocks } = this.pattern;
    const data: uPlot.AlignedData = [[0, references], [0, blocks]];
    const options: uPlot.Options = {
      width,
      height: HEIGHT,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { y: true, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: false, range: [0, references] }, y: { range: [0, blocks] } },
      axes: axes(width, { binary: false, ticks: 5, showX: brief, tickY: brief }),
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      hooks: { draw: [(plot) => this.paint(plot)], setCursor: [(plot) => this.onPointer(plot)] },
    };
    this.plot = new uPlot(options, data, this.box);
  }

  /** Draws the layers, the most referenced first, so that rare kinds are not hidden. */
  private paint(plot: uPlot): void {
    const { left, top, width, height } = plot.bbox;
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const [across, up] = this.scale(width, height);
    const { columns } = this.pattern;
    const log = Math.log(this.most + 1) || 1;
    this.layers.forEach(({ at, counts, shown }, number) => {
      if (!shown) return;
      const ink = rgb(hueOf(number));
      for (let point = 0; point < at.length; point++) {
        const column = at[point]! % columns;
        const row = (at[point]! - column) / columns;
        const alpha = FAINTEST + (1 - FAINTEST) * (Math.log(counts[point]!) / log);
        const pixel = ((Math.round(alpha * 255) << 24) | ink) >>> 0;
        const [x0, x1] = [Math.floor(column * across), Math.min(width, Math.max(Math.floor(column * across) + 1, Math.floor((column + 1) * across)))];
        const [y0, y1] = [Math.floor(row * up), Math.min(height, Math.max(Math.floor(row * up) + 1, Math.floor((row + 1) * up)))];
        for (let y = y0; y < y1; y++) pixels.fill(pixel, (height - 1 - y) * width + x0, (height - 1 - y) * width + x1);
      }
    });
    // Painted over, not put: the lines of the axes stay behind it.
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d")!.putImageData(image, 0, 0);
    plot.ctx.drawImage(canvas, left, top);
    const area = [left, top, width, height].map((length) => length / devicePixelRatio);
    this.box.dataset["scales"] = JSON.stringify({ x: [0, this.pattern.references], y: [0, this.pattern.blocks], log: false, area });
  }

  /** Pixels of a point of the grid, across and up. */
  private scale(width: number, height: number): [number, number] {
    const { references, blocks, references_per_column, blocks_per_row } = this.pattern;
    return [(width * references_per_column) / references, (height * blocks_per_row) / blocks];
  }

  private onPointer(plot: uPlot): void {
    const { left, top } = plot.cursor;
    if (left === undefined || left < 0 || top === undefined) {
      if (document.activeElement !== this.box) this.look(undefined);
      return;
    }
    const [across, up] = this.scale(plot.over.clientWidth, plot.over.clientHeight);
    this.look([Math.floor(left / across), Math.floor((plot.over.clientHeight - 1 - top) / up)]);
  }

  private onKey(event: KeyboardEvent): void {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "Escape") this.look(undefined);
    if (step === undefined || this.plot === undefined) return;
    event.preventDefault();
    const [columns, rows] = this.extent();
    const leap = [Math.max(1, Math.round(columns / 60)), Math.max(1, Math.round(rows / 40))];
    const [column, row] = this.spot ?? [-leap[0]!, 0];
    const within = (value: number, end: number) => Math.max(0, Math.min(value, end - 1));
    this.look([within(column + step[0]! * leap[0]!, columns), within(row + step[1]! * leap[1]!, rows)]);
  }

  /** Columns and rows that have anything. */
  private extent(): [number, number] {
    const { references, blocks, references_per_column, blocks_per_row } = this.pattern;
    return [Math.ceil(references / references_per_column), Math.ceil(blocks / blocks_per_row)];
  }

  /** Tells what is at a point of the grid. */
  private look(spot: [number, number] | undefined): void {
    this.spot = spot;
    this.tip.hidden = spot === undefined;
    if (spot === undefined || this.plot === undefined) return;
    const [column, row] = spot;
    const { references, blocks, references_per_column, blocks_per_row, columns } = this.pattern;
    const range = (at: number, each: number, end: number) =>
      each === 1 ? count(at + 1) : `${count(at * each + 1)} to ${count(Math.min(end, (at + 1) * each))}`;
    const values = this.layers.flatMap((layer, number) => {
      const here = layer.shown ? countAt(layer, row * columns + column) : 0;
      if (here === 0) return [];
      return [h("div", { class: "value" }, h("i", { class: "box", style: `background:${hueOf(number)}` }), name(layer.name), h("span", {}, count(here)))];
    });
    this.tip.replaceChildren(
      h("div", { class: "at" }, `reference ${range(column, references_per_column, references)}`),
      h("div", { class: "at" }, `block ${range(row, blocks_per_row, blocks)}`),
      ...(values.length > 0 ? values : [h("div", {}, "none")]),
    );
    this.place(this.plot, column, row);
  }

  private place(plot: uPlot, column: number, row: number): void {
    const [across, up] = this.scale(plot.over.clientWidth, plot.over.clientHeight);
    const left = plot.over.offsetLeft + (column + 0.5) * across;
    const top = plot.over.offsetTop + plot.over.clientHeight - (row + 0.5) * up;
    const over = left + 16 + this.tip.offsetWidth > this.box.clientWidth;
    this.tip.style.left = `${Math.max(0, over ? left - 16 - this.tip.offsetWidth : left + 16)}px`;
    this.tip.style.top = `${Math.max(0, Math.min(top - this.tip.offsetHeight / 2, HEIGHT - this.tip.offsetHeight))}px`;
  }

  private fillLegend(): void {
    const entries = this.layers.map((layer, number) => {
      const box = h("i", { class: "box", style: `background:${hueOf(number)}` });
      const button = h("button", { type: "button", "aria-pressed": String(layer.shown) }, box, name(layer.name), h("span", { class: "soft" }, brief(layer.references)));
      button.addEventListener("click", () => {
        layer.shown = !layer.shown;
        button.setAttribute("aria-pressed", String(layer.shown));
        this.look(undefined);
        this.plot?.redraw(false);
      });
      return h("li", {}, button);
    });
    this.legend.replaceChildren(...entries);
  }
}

/** The first layer has the accent. */
function hueOf(layer: number): string {
  return layer === 0 ? colour("--accent") : hue(layer - 1);
}

/** Points from pairs: how many places further, how many references. */
function layer(name: string, pairs: number[]): Layer {
  const length = pairs.length / 2;
  const [at, counts] = [new Uint32Array(length), new Uint32Array(length)];
  let place = 0;
  let references = 0;
  for (let point = 0; point < length; point++) {
    at[point] = place += pairs[2 * point]!;
    references += counts[point] = pairs[2 * point + 1]!;
  }
  return { name, references, at, counts, shown: true };
}

/** The references at a place, found by halving. */
function countAt({ at, counts }: Layer, place: number): number {
  let [low, high] = [0, at.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at[middle]! < place) low = middle + 1;
    else high = middle;
  }
  return at[low] === place ? counts[low]! : 0;
}

/** A colour as a pixel without its opacity, the way a canvas holds it. */
function rgb(hex: string): number {
  const value = Number.parseInt(hex.slice(1), 16);
  return ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16);
}
