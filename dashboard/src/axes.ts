// The axes of pictures: where they begin and end, their titles, and the values written along them.

import type uPlot from "uplot";
import { colour } from "./theme.ts";
import type { Range } from "./zoom.ts";

const FONT = "12px system-ui, sans-serif";

/** What has values above this share of the greatest alone begins where the values do, and not at 0. */
const FROM_ZERO = 0.25;

/** Room between the values and the ends of their axis, as a share of what they span. */
const MARGIN = 0.06;

/** What the axes of a picture show: titles with units, how many values upwards, and how values are written. */
export interface Axes {
  log?: boolean;
  binary: boolean;
  ticks: number;
  /** Absent where the words above the picture say what is drawn. */
  titles?: { x: string; y: string };
  showX(x: number): string;
  tickY(y: number): string;
}

/** The two axes of a picture so wide. */
export function axes(width: number, { log = false, binary, ticks, titles, showX, tickY }: Axes): uPlot.Axis[] {
  const most = Math.max(2, Math.floor(width / 95));
  const base = { stroke: colour("--soft"), font: FONT, grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, labelFont: FONT, labelSize: 20, labelGap: 0 };
  const across = (_: uPlot, __: number, from: number, to: number) => (log ? powers(from, to, most) : rounds(from, to, most, binary ? 2 : 10));
  const up = (_: uPlot, __: number, from: number, to: number) => rounds(from, to, ticks, 10);
  // Places are chosen so that their labels fit: none is left out.
  const x = { size: 34, space: 30, splits: across, filter: (_: uPlot, splits: number[]) => splits, values: (_: uPlot, splits: number[]) => splits.map(showX) };
  const title = (text: string | undefined) => (text === undefined ? {} : { label: text });
  return [{ ...base, ...x, ...title(titles?.x) }, { ...base, ...title(titles?.y), size: 50, splits: up, values: (_, splits) => splits.map(tickY) }];
}

/** From where to where an axis goes that shows these values: from where they begin, or from 0 if that is near. */
export function around(values: number[]): Range {
  const least = values.reduce((least, value) => Math.min(least, value), Infinity);
  const greatest = values.reduce((most, value) => Math.max(most, value), -Infinity);
  if (least > greatest) return [0, 1];
  if (least === greatest) return least > 0 ? [0, greatest * (1 + MARGIN)] : [least, least + 1];
  const margin = (greatest - least) * MARGIN;
  return [least >= 0 && least < FROM_ZERO * greatest ? 0 : least - margin, greatest + margin];
}

/** Powers of two between two sizes, at most `most` of them and evenly apart; round values where there are too few. */
function powers(from: number, to: number, most: number): number[] {
  const [low, high] = [Math.ceil(Math.log2(from) - 1e-9), Math.floor(Math.log2(to) + 1e-9)];
  if (high <= low) return rounds(from, to, most, 2);
  const step = Math.max(1, Math.ceil((high - low + 1) / most));
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, at) => 2 ** (low + at * step));
}

/** Round values between two, about `most` of them: multiples of 1, 2 and 5, or of powers of two for sizes. */
function rounds(from: number, to: number, most: number, base: 2 | 10): number[] {
  const rough = (to - from) / most;
  if (!(rough > 0) || !Number.isFinite(rough)) return [from];
  const power = base ** Math.floor(Math.log(rough) / Math.log(base));
  const step = power * (base === 2 ? (rough > power ? 2 : 1) : ([1, 2, 5, 10].find((unit) => unit * power >= rough) ?? 10));
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
}
