// Bars: one figure of each of several things.

import { h, name } from "./dom.ts";

/** A bar: a name, the parts it is made of, and what is written behind it. */
export interface Bar {
  name: string;
  parts: { value: number; colour: string; label?: string }[];
  figure: string;
  /** What the bar should reach. */
  mark?: { value: number; label: string };
}

/** Bars one below the other, all on the scale from 0 to `most`. */
export function bars(items: Bar[], most: number): HTMLElement {
  const list = h("div", { class: "bars" });
  for (const item of items) {
    const fills = item.parts.map(({ value, colour, label }) => {
      const width = most > 0 ? (100 * value) / most : 0;
      return h("div", { class: "fill", style: `width:${width}%;background:${colour}`, ...(label ? { title: label } : {}) });
    });
    const { mark } = item;
    const reach = mark && most > 0 ? h("i", { class: "reach", style: `left:${(100 * mark.value) / most}%`, title: mark.label }) : null;
    list.append(name(item.name, "label"), h("div", { class: "track" }, ...fills, reach), h("span", { class: "figure" }, item.figure));
  }
  return list;
}
