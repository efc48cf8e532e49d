// A chart of lines: thin, labelled at their ends, with the values under the pointer or the arrow keys.

import uPlot from "uplot";
import { around, axes } from "./axes.ts";
import { clip, h, name } from "./dom.ts";
import { Frame } from "./frame.ts";
import { colour } from "./theme.ts";
import { between, type Axis, type Extents, type Range, type Zoom } from "./zoom.ts";

/** A point, and what is said of it beside its value. */
export interface Point {
  x: number;
  y: number;
  exact?: string;
}

/** How a line stands among the others. */
export type Role = "interest" | "bound" | "coloured" | "grey" | "limit";

/** A line. */
export interface Line {
  name: string;
  role: Role;
  colour: string;
  shown: boolean;
  points: Point[];
}

/** What a chart shows. */
export interface Drawing {
  label: string;
  /** Titles of the axes, with units; absent where the words above the chart say what is drawn. */
  titles?: { x: string; y: string };
  lines: Line[];
  log: boolean;
  /** Sizes in bytes, whose round values are powers of two. */
  binary: boolean;
  /** Values are shares: the axis ends at 1 at the latest. */
  share: boolean;
  /** A small one of many: no labels at the lines. */
  small?: boolean;
  /** Where the axis of values begins and ends, where several charts have the same. */
  range?: Range;
  /** Places that are marked at the lower edge. */
  marks?: number[];
  /** The least value of the axis: what lies below is cut off. */
  floor?: number;
  showX(x: number): string;
  showY(y: number): string;
  tickY(y: number): string;
}

/** The point that the reader looks at. */
interface Spot {
  line: number;
  at: number;
}

const NEAR_LINES = 9;

/** Height of a mark at the lower edge. */
const MARK = 9;

const straight = uPlot.paths.linear!();

/** Measures text. */
const ruler = document.createElement("canvas").getContext("2d")!;

/** A chart in a separate element, which keeps its height. */
export class Chart {
  readonly element: HTMLElement;
  private readonly frame: Frame;
  private plot: uPlot | undefined;
  private xs: number[] = [];
  private ys: (number | null | undefined)[][] = [];
  private near: Spot | undefined;

  constructor(
    private drawing: Drawing,
    height: number,
    zoom?: Zoom,
  ) {
    const picture = {
      build: (width: number) => this.build(width),
      rescale: () => this.rescale(),
      onKey: (event: KeyboardEvent) => this.onKey(event),
      leave: () => this.look(undefined),
      extents: () => this.extents(),
      place: () => this.place(),
      shown: () => this.shown(),
    };
    this.frame = new Frame(height, picture, zoom, drawing.small);
    this.element = this.frame.element;
  }

  /** Shows something else. */
  draw(drawing: Drawing): void {
    this.drawing = drawing;
    this.frame.build();
  }

  /** Switches a line on or off. */
  switch(line: number, shown: boolean): void {
    this.drawing.lines[line]!.shown = shown;
    this.look(undefined);
    this.plot?.setSeries(line + 1, { show: shown });
  }

  private build(width: number): void {
    this.look(undefined);
    this.plot?.destroy();
    const { lines, label } = this.drawing;
    const tables = lines.map(({ points }) => [points.map(({ x }) => x), points.map(({ y }) => y)] as uPlot.AlignedData);
    const [xs, ...ys] = tables.length === 0 ? [[]] : uPlot.join(tables);
    this.xs = xs as number[];
    this.ys = ys as (number | null | undefined)[][];
    this.plot = new uPlot(this.options(width), [this.xs, ...this.ys] as uPlot.AlignedData, this.frame.box);
    this.frame.label(`${label}. Arrow keys go from value to value and from line to line.`);
  }

  private extents(): Extents {
    const [from, to] = [this.xs[0] ?? 1, this.xs[this.xs.length - 1] ?? 2];
    return { x: { range: from === to ? [from / 2, to * 2] : [from, to], log: this.drawing.log } };
  }

  private place(): Partial<Record<Axis, number>> | undefined {
    return this.near === undefined ? undefined : { x: this.xs[this.near.at]! };
  }

  private shown(): string {
    const [from, to] = this.rangeX();
    return `${this.drawing.showX(from)} to ${this.drawing.showX(to)}`;
  }

  private rescale(): void {
    const at = this.near;
    this.look(undefined);
    const [min, max] = this.rangeX();
    this.plot?.setScale("x", { min, max });
    if (at !== undefined && this.xs[at.at]! >= min && this.xs[at.at]! <= max) this.look(at);
  }

  private options(width: number): uPlot.Options {
    const { lines, log, small } = this.drawing;
    const labels = small ? 12 : Math.min(150, width * 0.24, this.labelWidth());
    return {
      width,
      height: this.frame.height,
      padding: [10, labels, 0, 0],
      legend: { show: false },
      cursor: { y: false, ...this.frame.cursor(false), points: { size: 7 }, dataIdx: (_, line, at) => this.closest(line, at) },
      scales: { x: { time: false, distr: log ? 3 : 1, log: 2, range: () => this.rangeX() }, y: { range: () => this.rangeY() } },
      axes: axes(width, { ...this.drawing, ticks: small ? 2 : 5 }),
      series: [{}, ...lines.map((line) => stroke(line, small === true))],
      hooks: {
        drawAxes: [(plot) => this.marks(plot)],
        draw: [(plot) => this.labels(plot)],
        setCursor: [(plot) => this.onPointer(plot)],
        setSelect: [(plot) => this.frame.selected(plot)],
        ready: [(plot) => this.frame.tell(plot, log)],
        setScale: [(plot) => this.frame.tell(plot, log)],
      },
    };
  }

  private rangeX(): Range {
    return this.frame.zoom.of("x", this.extents().x.range);
  }

  /** All lines count, also those that are off: nothing moves when one is switched. */
  private rangeY(): Range {
    const { lines, range, floor = -Infinity, share } = this.drawing;
    if (range !== undefined) return range;
    const [from, to] = this.rangeX();
    const edges = lines.flatMap((line) => [this.valueAt(line, from), this.valueAt(line, to)]);
    const values = lines.flatMap(({ points }) => points.flatMap(({ x, y }) => (x >= from && x <= to ? [y] : [])));
    const shown = [...values, ...edges.filter((value) => value !== undefined)].map((value) => Math.max(floor, value));
    const [least, greatest] = around(shown);
    return [least, share ? Math.min(1, greatest) : greatest];
  }

  /** The value of a line at a place, between its points on a straight line. */
  private valueAt({ points }: Line, x: number): number | undefined {
    const right = points.findIndex((point) => point.x >= x);
    if (right < 0) return undefined;
    const [before, behind] = [points[right - 1], points[right]!];
    if (behind.x === x) return behind.y;
    return before && between([before.x, before.y], [behind.x, behind.y], x, this.drawing.log);
  }

  /** The nearest place where a line has a point: lines need not have the same sizes. */
  private closest(line: number, at: number): number {
    const ys = this.ys[line - 1];
    if (ys === undefined || ys[at] != null) return at;
    for (let away = 1; away < ys.length; away++) {
      if (ys[at - away] != null) return at - away;
      if (ys[at + away] != null) return at + away;
    }
    return at;
  }

  /** The width of the longest label, of lines that are off as well: nothing moves when one is switched. */
  private labelWidth(): number {
    const widths = this.drawing.lines.filter(isLabelled).map((line) => {
      ruler.font = labelFont(line, 1);
      return ruler.measureText(clip(line.name, 40)).width;
    });
    return 12 + Math.ceil(Math.max(10, ...widths));
  }

  /** The lines with a name at their end. */
  private labelled(): Line[] {
    return this.drawing.lines.filter((line) => line.shown && isLabelled(line));
  }

  private labels(plot: uPlot): void {
    if (this.drawing.small) return;
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    const ends = this.ends(plot).sort((a, b) => a.y - b.y);
    const least = 14 * ratio;
    ends.forEach((end, at) => (end.y = Math.max(end.y, at === 0 ? end.y : ends[at - 1]!.y + least)));
    // Those that were pushed out below move up again.
    let floor = plot.bbox.top + plot.bbox.height;
    for (const end of [...ends].reverse()) {
      end.y = Math.min(end.y, floor);
      floor = end.y - least;
    }
    const left = plot.bbox.left + plot.bbox.width + 7 * ratio;
    const room = ctx.canvas.width - left;
    ctx.save();
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.direction = "ltr";
    ctx.lineWidth = ratio;
    ctx.setLineDash([ratio, 3 * ratio]);
    for (const { line, y, from } of ends) {
      ctx.font = labelFont(line, ratio);
      ctx.fillStyle = ctx.strokeStyle = line.colour;
      ctx.fillText(fitted(ctx, line.name, room), left, y);
      if (left - from.x < 20 * ratio) continue;
      // A line that ends before the edge is led to its name.
      ctx.beginPath();
      ctx.moveTo(from.x + 6 * ratio, from.y);
      ctx.lineTo(left - 3 * ratio, y);
      ctx.stroke();
    }
    ctx.restore();
  }

  private marks({ ctx, bbox, valToPos }: uPlot): void {
    ctx.save();
    ctx.strokeStyle = colour("--soft");
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    for (const mark of this.drawing.marks ?? []) {
      const x = valToPos(mark, "x", true);
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x, bbox.top + bbox.height - MARK * devicePixelRatio);
    }
    ctx.stroke();
    ctx.restore();
  }

  /** Where the lines with a name end, in pixels of the picture, and where their names go. */
  private ends(plot: uPlot): { line: Line; y: number; from: { x: number; y: number } }[] {
    const [first, last] = this.rangeX();
    return this.labelled().flatMap((line) => {
      const edge = this.valueAt(line, last);
      const end = edge === undefined ? line.points.findLast(({ x }) => x >= first && x <= last) : { x: last, y: edge };
      if (end === undefined || end.y < (plot.scales["y"]?.min ?? 0)) return [];
      const from = { x: plot.valToPos(end.x, "x", true), y: plot.valToPos(end.y, "y", true) };
      return [{ line, y: from.y, from }];
    });
  }

  private onPointer(plot: uPlot): void {
    const { left, top, idx } = plot.cursor;
    if (this.frame.isLeft(plot) || idx === null || idx === undefined) return;
    let best: Spot | undefined;
    let least = Infinity;
    this.drawing.lines.forEach((line, number) => {
      if (!line.shown) return;
      const at = this.closest(number + 1, idx);
      const y = this.ys[number]?.[at];
      if (y === null || y === undefined) return;
      const away = Math.hypot(plot.valToPos(this.xs[at]!, "x") - left!, plot.valToPos(y, "y") - top!);
      if (away < least) [best, least] = [{ line: number, at }, away];
    });
    this.look(best);
  }

  private onKey(event: KeyboardEvent): void {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (step === undefined || this.plot === undefined) return;
    event.preventDefault();
    const shown = this.drawing.lines.flatMap((line, number) => (line.shown && line.points.length > 0 ? [number] : []));
    if (shown.length === 0) return;
    const from = this.near ?? { line: shown[0]!, at: this.xs.findIndex((x) => x >= this.rangeX()[0]) - 1 };
    const turn = (shown.indexOf(from.line) + step[0]! + shown.length) % shown.length;
    const line = shown[turn]!;
    let at = from.at + step[1]!;
    while (at > 0 && at < this.xs.length && this.ys[line]![at] == null) at += step[1] || 1;
    const spot = { line, at: this.closest(line + 1, Math.max(0, Math.min(at, this.xs.length - 1))) };
    this.frame.zoom.reveal({ x: this.xs[spot.at]! }, this.extents());
    this.look(spot);
  }

  /** Shows the values at a point, or none. */
  private look(spot: Spot | undefined): void {
    this.near = spot;
    this.frame.tip.hidden = true;
    if (spot === undefined || this.plot === undefined) return;
    const { lines, showX, showY } = this.drawing;
    const x = this.xs[spot.at]!;
    const point = lines[spot.line]!.points.find((point) => point.x === x)!;
    const rows = this.around(spot).map(({ line, y, near }) =>
      h("div", { class: near ? "value near" : "value" }, swatch(line), name(clip(line.name, 200)), h("span", {}, showY(y))),
    );
    const exact = point.exact === undefined ? [] : [h("div", { class: "exact" }, point.exact)];
    const place: [number, number] = [this.plot.valToPos(x, "x"), this.plot.valToPos(point.y, "y")];
    this.frame.show(this.plot, place, h("div", { class: "at" }, showX(x)), ...rows, ...exact);
  }

  /** The line looked at among its neighbours at the same place, the greatest first. */
  private around(spot: Spot): { line: Line; y: number; near: boolean }[] {
    const here = this.drawing.lines.flatMap((line, number) => {
      const y = this.ys[number]?.[spot.at];
      return line.shown && y !== null && y !== undefined ? [{ line, y, near: number === spot.line }] : [];
    });
    here.sort((a, b) => b.y - a.y);
    const from = Math.max(0, Math.min(here.findIndex(({ near }) => near) - 4, here.length - NEAR_LINES));
    return here.slice(from, from + NEAR_LINES);
  }
}

function stroke(line: Line, small: boolean): uPlot.Series {
  const width = { interest: 2.25, bound: 1.25, coloured: 1.25, grey: 0.75, limit: 1 }[line.role];
  const dash = { bound: { dash: [5, 4] }, limit: { dash: [2, 3] } }[line.role as string] ?? {};
  const points = { show: !small && isLabelled(line) && line.points.length <= 40, size: 4, fill: line.colour };
  // Whole lines, whatever part is shown: the points on both sides of it may be far away.
  const paths: uPlot.Series.PathBuilder = (plot, number) => straight(plot, number, 0, plot.data[0].length - 1);
  return { show: line.shown, stroke: line.colour, width, spanGaps: true, points, paths, ...dash };
}

/** A mark in the colour and stroke of a line. */
export function swatch(line: Line): HTMLElement {
  return h("span", { class: { bound: "swatch dashed", limit: "swatch dotted" }[line.role as string] ?? "swatch", style: `color:${line.colour}` });
}

/** A few lines have their name at their end, and marks at their points. */
function isLabelled(line: Line): boolean {
  return line.role !== "grey" && line.role !== "limit";
}

function labelFont(line: Line, ratio: number): string {
  return `${line.role === "interest" ? "600 " : ""}${12 * ratio}px system-ui, sans-serif`;
}

function fitted(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  for (let length = Math.min(text.length, 40); length > 0; length--) {
    const shown = clip(text, length);
    if (ctx.measureText(shown).width <= room) return shown;
  }
  return "…";
}
