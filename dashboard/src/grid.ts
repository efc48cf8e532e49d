// A picture of cells on two axes, as fast for millions as for a few: which is how dark is the caller's.

import uPlot from "uplot";
import { axes } from "./axes.ts";
import { Frame } from "./frame.ts";
import { brief } from "./format.ts";
import type { Axis, Extents, Range } from "./zoom.ts";

/** What is painted: the lengths of both axes, and how much of them a cell takes. */
export interface Cells {
  label: string;
  /** Titles of the axes, with units. */
  titles: { x: string; y: string };
  x: { length: number; each: number; show?(value: number): string };
  y: { length: number; each: number; show?(value: number): string };
  /** Gives each cell that is not empty to `cell`: its opacity, and its colour as [`ink`] gives it. Later cells cover earlier ones. */
  paint(cell: (column: number, row: number, opacity: number, ink: number) => void): void;
  /** What is said of a cell. */
  tell(column: number, row: number): Node[];
}

export class Grid {
  readonly frame: Frame;
  private plot: uPlot | undefined;
  private spot: [column: number, row: number] | undefined;

  constructor(
    private readonly cells: Cells,
    height: number,
  ) {
    this.frame = new Frame(height, {
      build: (width) => this.build(width),
      rescale: () => this.rescale(),
      onKey: (event) => this.onKey(event),
      leave: () => this.look(undefined),
      extents: () => this.extents(),
      place: () => this.place(),
      shown: () => this.shown(),
    });
    this.frame.label(`${cells.label}. Arrow keys go from place to place.`);
  }

  /** Paints again what has changed. */
  redraw(): void {
    this.look(undefined);
    this.plot?.redraw(false);
  }

  private build(width: number): void {
    this.plot?.destroy();
    const { x, y, titles } = this.cells;
    const options: uPlot.Options = {
      width,
      height: this.frame.height,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { y: true, ...this.frame.cursor(true), points: { show: false } },
      scales: { x: { time: false, range: () => this.range("x") }, y: { range: () => this.range("y") } },
      axes: axes(width, { binary: false, ticks: 5, titles, showX: x.show ?? brief, tickY: y.show ?? brief }),
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      hooks: { draw: [(plot) => this.paint(plot)], setCursor: [(plot) => this.onPointer(plot)], setSelect: [(plot) => this.frame.selected(plot)] },
    };
    this.plot = new uPlot(options, [[0, x.length], [0, y.length]], this.frame.box);
  }

  private rescale(): void {
    this.look(undefined);
    const [[left, right], [low, high]] = [this.range("x"), this.range("y")];
    this.plot?.batch((plot: uPlot) => {
      plot.setScale("x", { min: left, max: right });
      plot.setScale("y", { min: low, max: high });
    });
  }

  private range(axis: Axis): Range {
    return this.frame.zoom.of(axis, [0, this.cells[axis].length]);
  }

  private extents(): Extents {
    const { x, y } = this.cells;
    return { x: { range: [0, x.length], log: false }, y: { range: [0, y.length], log: false } };
  }

  private place(): Record<Axis, number> | undefined {
    if (this.spot === undefined) return undefined;
    const { x, y } = this.cells;
    return { x: (this.spot[0] + 0.5) * x.each, y: (this.spot[1] + 0.5) * y.each };
  }

  private shown(): string {
    const part = (axis: Axis) => this.range(axis).map((value) => (this.cells[axis].show ?? brief)(Math.round(value))).join(" to ");
    return `${part("x")} across, ${part("y")} upwards`;
  }

  private paint(plot: uPlot): void {
    const { left, top, width, height } = plot.bbox;
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const [across, up] = [this.pixels("x", width), this.pixels("y", height)];
    this.cells.paint((column, row, opacity, ink) => {
      const pixel = ((Math.round(opacity * 255) << 24) | ink) >>> 0;
      const [x0, x1] = across(column);
      const [y0, y1] = up(row);
      for (let y = y0; y < y1; y++) pixels.fill(pixel, (height - 1 - y) * width + x0, (height - 1 - y) * width + x1);
    });
    // Painted over, not put: the lines of the axes stay behind it.
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d")!.putImageData(image, 0, 0);
    plot.ctx.drawImage(canvas, left, top);
    this.frame.tell(plot, false);
  }

  /** The first pixel of a cell and the one behind it, of so many on an axis: at least one, except for cells that are not shown. */
  private pixels(axis: Axis, end: number): (cell: number) => [number, number] {
    const [from, to] = this.range(axis);
    const [each, origin] = [(this.cells[axis].each * end) / (to - from), (-from * end) / (to - from)];
    return (cell) => {
      const first = Math.floor(origin + cell * each);
      const last = Math.max(first + 1, Math.floor(origin + (cell + 1) * each));
      return [Math.max(0, Math.min(first, end)), Math.max(0, Math.min(last, end))];
    };
  }

  /** Columns or rows. */
  private count(axis: Axis): number {
    return Math.ceil(this.cells[axis].length / this.cells[axis].each);
  }

  private onPointer(plot: uPlot): void {
    if (this.frame.isLeft(plot)) return;
    const at = (axis: Axis, pixel: number) => Math.max(0, Math.min(Math.floor(plot.posToVal(pixel, axis) / this.cells[axis].each), this.count(axis) - 1));
    // The last pixel is still inside.
    this.look([at("x", plot.cursor.left!), at("y", Math.min(plot.cursor.top! + 1, plot.over.clientHeight))]);
  }

  private onKey(event: KeyboardEvent): void {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (step === undefined || this.plot === undefined) return;
    event.preventDefault();
    const axis = step[0] === 0 ? "y" : "x";
    const [from, to] = this.range(axis);
    const leap = Math.max(1, Math.round((to - from) / this.cells[axis].each / (axis === "x" ? 60 : 40)));
    const spot = this.next(step as [number, number], leap);
    this.frame.zoom.reveal({ x: (spot[0] + 0.5) * this.cells.x.each, y: (spot[1] + 0.5) * this.cells.y.each }, this.extents());
    this.look(spot);
  }

  /** The place so many cells further; the first of those that are shown, if the reader looks at none. */
  private next([across, up]: [number, number], leap: number): [number, number] {
    const first = (axis: Axis) => Math.ceil(this.range(axis)[0] / this.cells[axis].each - 1e-9);
    if (this.spot === undefined) return [first("x"), first("y")];
    const within = (axis: Axis, value: number) => Math.max(0, Math.min(value, this.count(axis) - 1));
    return [within("x", this.spot[0] + across * leap), within("y", this.spot[1] + up * leap)];
  }

  private look(spot: [number, number] | undefined): void {
    this.spot = spot;
    this.frame.tip.hidden = true;
    const place = this.place();
    if (spot === undefined || place === undefined || this.plot === undefined) return;
    this.frame.show(this.plot, [this.plot.valToPos(place.x, "x"), this.plot.valToPos(place.y, "y")], ...this.cells.tell(...spot));
  }
}

/** A colour as a pixel without its opacity, the way a canvas holds it. */
export function ink(hex: string): number {
  const value = Number.parseInt(hex.slice(1), 16);
  return ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16);
}
