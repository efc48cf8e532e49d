// A picture of cells on two axes, as fast for millions as for a few: which is how dark is the caller's.

import uPlot from "uplot";
import { axes } from "./chart.ts";
import { Frame } from "./frame.ts";
import { brief } from "./format.ts";

/** What is painted: the lengths of both axes, and how much of them a cell takes. */
export interface Cells {
  label: string;
  x: { length: number; each: number; show?(value: number): string };
  y: { length: number; each: number; show?(value: number): string };
  /** Gives each cell that is not empty to `cell`: its opacity, and its colour as [`ink`] gives it. What comes later covers. */
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
    this.frame = new Frame(height, { build: (width) => this.build(width), onKey: (event) => this.onKey(event), leave: () => this.look(undefined) });
    this.frame.label(`${cells.label}. Arrow keys go from place to place.`);
  }

  /** Paints again what has changed. */
  redraw(): void {
    this.look(undefined);
    this.plot?.redraw(false);
  }

  private build(width: number): void {
    this.plot?.destroy();
    const { x, y } = this.cells;
    const options: uPlot.Options = {
      width,
      height: this.frame.height,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { y: true, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: false, range: [0, x.length] }, y: { range: [0, y.length] } },
      axes: axes(width, { binary: false, ticks: 5, showX: x.show ?? brief, tickY: y.show ?? brief }),
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      hooks: { draw: [(plot) => this.paint(plot)], setCursor: [(plot) => this.onPointer(plot)] },
    };
    this.plot = new uPlot(options, [[0, x.length], [0, y.length]], this.frame.box);
  }

  private paint(plot: uPlot): void {
    const { left, top, width, height } = plot.bbox;
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const [across, up] = this.scale(width, height);
    this.cells.paint((column, row, opacity, ink) => {
      const pixel = ((Math.round(opacity * 255) << 24) | ink) >>> 0;
      const [x0, x1] = pixelsOf(column, across, width);
      const [y0, y1] = pixelsOf(row, up, height);
      for (let y = y0; y < y1; y++) pixels.fill(pixel, (height - 1 - y) * width + x0, (height - 1 - y) * width + x1);
    });
    // Painted over, not put: the lines of the axes stay behind it.
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d")!.putImageData(image, 0, 0);
    plot.ctx.drawImage(canvas, left, top);
    this.frame.tell(plot, false);
  }

  /** Pixels of a cell, across and up. */
  private scale(width: number, height: number): [number, number] {
    const { x, y } = this.cells;
    return [(width * x.each) / x.length, (height * y.each) / y.length];
  }

  /** Columns and rows. */
  private extent(): [number, number] {
    const { x, y } = this.cells;
    return [Math.ceil(x.length / x.each), Math.ceil(y.length / y.each)];
  }

  private onPointer(plot: uPlot): void {
    if (this.frame.isLeft(plot)) return;
    const { clientWidth, clientHeight } = plot.over;
    const [across, up] = this.scale(clientWidth, clientHeight);
    this.look([Math.floor(plot.cursor.left! / across), Math.floor((clientHeight - 1 - plot.cursor.top!) / up)]);
  }

  private onKey(event: KeyboardEvent): void {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (step === undefined || this.plot === undefined) return;
    event.preventDefault();
    const [columns, rows] = this.extent();
    const leap = [Math.max(1, Math.round(columns / 60)), Math.max(1, Math.round(rows / 40))];
    const [column, row] = this.spot ?? [-leap[0]!, 0];
    const within = (value: number, end: number) => Math.max(0, Math.min(value, end - 1));
    this.look([within(column + step[0]! * leap[0]!, columns), within(row + step[1]! * leap[1]!, rows)]);
  }

  private look(spot: [number, number] | undefined): void {
    this.spot = spot;
    this.frame.tip.hidden = true;
    if (spot === undefined || this.plot === undefined) return;
    const { clientWidth, clientHeight } = this.plot.over;
    const [across, up] = this.scale(clientWidth, clientHeight);
    this.frame.show(this.plot, [(spot[0] + 0.5) * across, clientHeight - (spot[1] + 0.5) * up], ...this.cells.tell(...spot));
  }
}

/** The first pixel of a cell, and the one behind it: at least one. */
function pixelsOf(cell: number, each: number, end: number): [number, number] {
  const first = Math.floor(cell * each);
  return [first, Math.min(end, Math.max(first + 1, Math.floor((cell + 1) * each)))];
}

/** A colour as a pixel without its opacity, the way a canvas holds it. */
export function ink(hex: string): number {
  const value = Number.parseInt(hex.slice(1), 16);
  return ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16);
}
