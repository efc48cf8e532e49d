// Which blocks are referenced when, by kind: a picture of points, as fast for millions of references as for a few.

import type { Pattern } from "./data.ts";
import { clipStart, h, name } from "./dom.ts";
import { brief, count } from "./format.ts";
import { Grid, ink, type Cells } from "./grid.ts";
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

/** Characters of a path that are shown. */
const PATH = 80;

/** A point with one reference is this opaque; one with the most is opaque. */
const FAINTEST = 0.6;

/** The figure. */
export function accessPattern(pattern: Pattern, blockBytes: number | undefined): HTMLElement {
  const picture = new Picture(pattern, blockBytes);
  return h(
    "figure",
    { class: "part pattern" },
    h("h3", {}, "Which blocks are referenced when"),
    h("figcaption", {}, "Each point is a block, or neighbouring ones, at a reference or neighbouring ones: the darker, the more references. Blocks are numbered in the order of their first reference: new blocks climb the upper edge, blocks below it are used again."),
    picture.grid.frame.element,
    picture.legend,
  );
}

class Picture {
  readonly grid: Grid;
  readonly legend = h("ul", { class: "legend", "aria-label": "Kinds: press to hide or show" });
  private readonly layers: Layer[];
  private readonly most: number;

  constructor(
    private readonly pattern: Pattern,
    private readonly blockBytes: number | undefined,
  ) {
    this.layers = pattern.kinds.map(({ name, points }) => layer(name, points));
    this.layers.sort((a, b) => b.references - a.references);
    this.most = this.layers.reduce((most, { counts }) => counts.reduce((a, b) => Math.max(a, b), most), 1);
    const { references, blocks, references_per_column, blocks_per_row } = pattern;
    const cells: Cells = {
      label: "Blocks by time",
      titles: { x: "References, in the order of the trace", y: "Blocks, in the order of their first reference" },
      x: { length: references, each: references_per_column },
      y: { length: blocks, each: blocks_per_row },
      paint: (cell) => this.paint(cell),
      tell: (column, row) => this.tell(column, row),
    };
    this.grid = new Grid(cells, HEIGHT);
    onTheme(() => this.fillLegend());
    this.fillLegend();
  }

  /** The layers, the most referenced first, so that rare kinds are not hidden. */
  private paint(cell: Parameters<Cells["paint"]>[0]): void {
    const { columns } = this.pattern;
    const log = Math.log(this.most + 1) || 1;
    this.layers.forEach(({ at, counts, shown }, number) => {
      if (!shown) return;
      const colour = ink(hueOf(number));
      for (let point = 0; point < at.length; point++) {
        const column = at[point]! % columns;
        cell(column, (at[point]! - column) / columns, FAINTEST + (1 - FAINTEST) * (Math.log(counts[point]!) / log), colour);
      }
    });
  }

  private tell(column: number, row: number): Node[] {
    const { references, blocks, references_per_column, blocks_per_row, columns } = this.pattern;
    const range = (at: number, each: number, end: number) =>
      each === 1 ? count(at + 1) : `${count(at * each + 1)} to ${count(Math.min(end, (at + 1) * each))}`;
    const values = this.layers.flatMap((layer, number) => {
      const here = layer.shown ? countAt(layer, row * columns + column) : 0;
      if (here === 0) return [];
      return [h("div", { class: "value" }, h("i", { class: "box", style: `background:${hueOf(number)}` }), name(layer.name), h("span", {}, count(here)))];
    });
    return [
      h("div", { class: "at" }, `reference ${range(column, references_per_column, references)}`),
      h("div", { class: "at" }, `block ${range(row, blocks_per_row, blocks)}`),
      ...(values.length > 0 ? values : [h("div", {}, "none")]),
      ...this.placesOf(row),
    ];
  }

  /** Which blocks of which files a row is of. */
  private placesOf(row: number): Node[] {
    const { places, blocks, blocks_per_row } = this.pattern;
    const told = places?.rows[row];
    if (places === undefined || told === undefined) return [];
    let rest = Math.min(blocks_per_row, blocks - row * blocks_per_row);
    const list: Node[] = [];
    for (let at = 0; at + 3 < told.length; at += 4) {
      const [file, from, to, here] = told.slice(at, at + 4) as [number, number, number, number];
      rest -= here;
      const path = places.files[file] ?? "";
      list.push(h("div", { class: "place" }, ...(path === "" ? [] : [endOf(path), " "]), this.offsets(from, to, here)));
    }
    if (rest > 0) list.push(h("div", { class: "exact" }, `${count(rest)} ${rest === 1 ? "block" : "blocks"} of other files`));
    return list;
  }

  /** Where blocks lie in their file: in bytes where blocks have a size, else their numbers. */
  private offsets(from: number, to: number, blocks: number): string {
    const size = this.blockBytes;
    if (size === undefined) return from === to ? `number ${count(from)}` : `numbers ${count(from)} to ${count(to)}`;
    const range = `bytes ${count(from * size)} to ${count((to + 1) * size - 1)}`;
    return to - from + 1 === blocks ? range : `${range}: ${count(blocks)} of ${count(to - from + 1)} blocks`;
  }

  private fillLegend(): void {
    const entries = this.layers.map((layer, number) => {
      const box = h("i", { class: "box", style: `background:${hueOf(number)}` });
      const button = h("button", { type: "button", "aria-pressed": String(layer.shown) }, box, name(layer.name), h("span", { class: "soft" }, brief(layer.references)));
      button.addEventListener("click", () => {
        layer.shown = !layer.shown;
        button.setAttribute("aria-pressed", String(layer.shown));
        this.grid.redraw();
      });
      return h("li", {}, button);
    });
    this.legend.replaceChildren(...entries);
  }
}

/** A path whose end is shown if it does not fit. */
function endOf(path: string): HTMLElement {
  const file = name(clipStart(path, PATH), "path-end");
  file.title = path;
  return file;
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
