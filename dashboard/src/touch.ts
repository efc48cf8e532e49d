// Fingers on a picture: two show a part larger or smaller and take it along, one moves the part that is shown.

import type { Axis, Extents, Zoom } from "./zoom.ts";

/** Where the plot lies in its box, in pixels: left, top, width, height. */
export type Area = [left: number, top: number, width: number, height: number];

/** Fingers on a picture: how many, where their middle is in the window, and how far they are apart. */
interface Fingers {
  count: number;
  x: number;
  y: number;
  apart: number;
}

/** Lets fingers on `box` choose the part that `zoom` shows. While all is shown one finger scrolls the page, as elsewhere. */
export function onTouch(box: HTMLElement, area: () => Area, zoom: Zoom, extents: () => Extents): void {
  let before = fingers([]);
  for (const kind of ["touchstart", "touchend", "touchcancel"] as const) {
    box.addEventListener(kind, ({ touches }) => (before = fingers([...touches])), { passive: true });
  }
  box.addEventListener("touchmove", (event) => {
    const now = fingers([...event.touches]);
    const [then, all] = [before, extents()];
    before = now;
    if (now.count !== then.count || now.count > 2 || (now.count === 1 && zoom.isWhole())) return;
    event.preventDefault();
    const [left, top, width, height] = area();
    if (now.count === 2) {
      const { x, y } = box.getBoundingClientRect();
      const shares = { x: (then.x - x - left) / width, y: 1 - (then.y - y - top) / height };
      const place = (axis: Axis): number | undefined => zoom.at(axis, shares[axis], all);
      zoom.scale(then.apart / now.apart, { x: place("x"), y: place("y") }, all);
      if (zoom.isWhole()) return;
    }
    zoom.move("x", (then.x - now.x) / width, all);
    zoom.move("y", (now.y - then.y) / height, all);
  }, { passive: false });
}

function fingers(touches: Touch[]): Fingers {
  const middle = (of: (touch: Touch) => number): number => touches.reduce((sum, touch) => sum + of(touch), 0) / touches.length;
  const [one, other] = touches;
  const apart = one && other ? Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) : 0;
  return { count: touches.length, x: middle(({ clientX }) => clientX), y: middle(({ clientY }) => clientY), apart: Math.max(apart, 1) };
}
