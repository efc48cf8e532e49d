// Which part of a picture is shown. Pictures that share it show the same part.

export type Range = [from: number, to: number];

/** All of an axis: where it begins and ends, and whether equal factors are equally long on it. */
export interface Extent {
  range: Range;
  log: boolean;
}

/** The axes along which a picture can be zoomed. */
export interface Extents {
  x: Extent;
  y?: Extent;
}

export type Axis = keyof Extents;

/** What is left of an axis at most: a thousandth. */
const LEAST = 1e-3;

export class Zoom {
  private parts: Partial<Record<Axis, Range>> = {};
  private readonly listeners: (() => void)[] = [];

  onChange(redraw: () => void): void {
    this.listeners.push(redraw);
  }

  /** The part of an axis that is shown. */
  of(axis: Axis, whole: Range): Range {
    return this.parts[axis] ?? whole;
  }

  /** The value at a share of the visible part of an axis; nothing without that axis. */
  at(axis: Axis, share: number, extents: Extents): number | undefined {
    const extent = extents[axis];
    if (extent === undefined) return undefined;
    const { on, back } = lengths(extent.log);
    const [from, to] = this.of(axis, extent.range);
    return back(on(from) + (on(to) - on(from)) * share);
  }

  isWhole(): boolean {
    return this.parts.x === undefined && this.parts.y === undefined;
  }

  /** Shows these parts of the axes, and all of those that are not named. */
  show(parts: Partial<Record<Axis, Range>>, extents: Extents): void {
    this.parts = {};
    for (const axis of ["x", "y"] as const) {
      const [extent, part] = [extents[axis], parts[axis]];
      if (extent === undefined || part === undefined) continue;
      const within = inside(part, extent);
      if (within[0] > extent.range[0] || within[1] < extent.range[1]) this.parts[axis] = within;
    }
    this.listeners.forEach((redraw) => redraw());
  }

  /** Shows `factor` times as much, with the place `at` where it was. */
  scale(factor: number, at: { [axis in Axis]?: number | undefined }, extents: Extents): void {
    this.show(this.each(extents, (axis, [from, to], { on, back }) => {
      const middle = at[axis] === undefined ? (on(from) + on(to)) / 2 : on(at[axis]);
      return [back(middle - (middle - on(from)) * factor), back(middle + (on(to) - middle) * factor)];
    }), extents);
  }

  /** Moves along an axis by a share of what is shown, as far as it goes. */
  move(along: Axis, share: number, extents: Extents): void {
    this.show(this.each(extents, (axis, [from, to], { on, back }, whole) => {
      if (axis !== along) return [from, to];
      const by = (on(to) - on(from)) * share;
      const most = by < 0 ? on(whole[0]) - on(from) : on(whole[1]) - on(to);
      const way = by < 0 ? Math.max(by, most) : Math.min(by, most);
      return [back(on(from) + way), back(on(to) + way)];
    }), extents);
  }

  /** Moves as far as it takes to see a place. */
  reveal(at: Partial<Record<Axis, number>>, extents: Extents): void {
    for (const axis of ["x", "y"] as const) {
      const [extent, place] = [extents[axis], at[axis]];
      if (extent === undefined || place === undefined) continue;
      const [from, to] = this.of(axis, extent.range);
      if (place >= from && place <= to) continue;
      const { on } = lengths(extent.log);
      this.move(axis, (on(place) - (on(from) + on(to)) / 2) / (on(to) - on(from)), extents);
    }
  }

  private each(extents: Extents, part: (axis: Axis, shown: Range, lengths: Lengths, whole: Range) => Range): Partial<Record<Axis, Range>> {
    const parts: Partial<Record<Axis, Range>> = {};
    for (const axis of ["x", "y"] as const) {
      const extent = extents[axis];
      if (extent !== undefined) parts[axis] = part(axis, this.of(axis, extent.range), lengths(extent.log), extent.range);
    }
    return parts;
  }
}

/** From values to lengths on an axis, and back. */
interface Lengths {
  on(value: number): number;
  back(length: number): number;
}

function lengths(log: boolean): Lengths {
  return log ? { on: Math.log2, back: (length) => 2 ** length } : { on: (value) => value, back: (length) => length };
}

/** The part of `part` that lies on the axis, and is not too short to be looked at. */
function inside([one, other]: Range, { range, log }: Extent): Range {
  const { on, back } = lengths(log);
  const [first, last] = [on(range[0]), on(range[1])];
  const [from, to] = [Math.min(one, other), Math.max(one, other)];
  const lack = ((last - first) * LEAST - (on(to) - on(from))) / 2;
  // Values stay what they are where they can: logarithms do not give them back exactly.
  const ends = lack > 0 ? [back(on(from) - lack), back(on(to) + lack)] : [from, to];
  return ends.map((value) => Math.max(range[0], Math.min(value, range[1]))) as Range;
}

/** How the values of a line lie between its points. */
export function between([left, low]: [number, number], [right, high]: [number, number], x: number, log: boolean): number {
  const { on } = lengths(log);
  return low + ((high - low) * (on(x) - on(left))) / (on(right) - on(left));
}
