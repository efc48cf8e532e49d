// The box of a picture: it keeps its height, follows the width of the page, has a tip beside what the reader looks at, and shows a part of the picture on request.

import type uPlot from "uplot";
import { h } from "./dom.ts";
import { onTheme } from "./theme.ts";
import { onTouch, type Area } from "./touch.ts";
import { Zoom, type Axis, type Extents } from "./zoom.ts";

/** What a picture does in its box. */
interface Picture {
  /** Draws it anew, so wide. */
  build(width: number): void;
  /** Draws the part that is shown now. */
  rescale(): void;
  onKey(event: KeyboardEvent): void;
  /** The reader looks at nothing any more. */
  leave(): void;
  /** The axes along which it can be zoomed. */
  extents(): Extents;
  /** The place that the reader looks at. */
  place(): Partial<Record<Axis, number>> | undefined;
  /** The part that is shown, in words. */
  shown(): string;
}

const KEYS = "Plus and minus zoom, Shift with arrow keys moves the part shown, Enter at two places shows what lies between them, 0 shows all.";

export class Frame {
  readonly element: HTMLElement;
  readonly box: HTMLElement;
  readonly tip = h("div", { class: "tip", hidden: "", "aria-live": "polite" });
  private readonly status = h("span", { role: "status" });
  private readonly all = button("Show all", "Show all of it");
  /** Where the range begins that the keys choose. */
  private begin: Partial<Record<Axis, number>> | undefined;
  private area: Area = [0, 0, 1, 1];

  constructor(
    readonly height: number,
    private readonly picture: Picture,
    readonly zoom = new Zoom(),
    small = false,
  ) {
    this.box = h("div", { class: "plot", tabindex: "0", role: "application", style: `height:${height}px` });
    this.element = h("div", { class: "plot" }, this.box, this.tip, small ? null : this.bar());
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    this.box.addEventListener("blur", () => this.leave());
    onTouch(this.box, () => this.area, zoom, () => picture.extents());
    let width = 0;
    new ResizeObserver(() => {
      if (this.box.clientWidth === width) return;
      width = this.box.clientWidth;
      this.build();
    }).observe(this.box);
    onTheme(() => this.build());
    zoom.onChange(() => this.rescale());
  }

  /** Has the picture drawn, once the box is on the page. */
  build(): void {
    if (this.box.clientWidth > 0) this.picture.build(this.box.clientWidth);
    this.say();
  }

  /** Says what the keys do with what is shown. */
  label(text: string): void {
    this.box.setAttribute("aria-label", `${text} ${KEYS}`);
  }

  /** What the pointer does in a plot: it chooses a part with its button held down, and all with two clicks. */
  cursor(y: boolean): Pick<uPlot.Cursor, "drag" | "bind"> {
    return {
      drag: { x: true, y, setScale: false, dist: 6, ...(y ? { uni: 24 } : {}) },
      bind: { dblclick: () => () => (this.zoom.show({}, this.picture.extents()), null) },
    };
  }

  /** Shows the part that the pointer has chosen. */
  selected(plot: uPlot): void {
    const { left, top, width, height } = plot.select;
    if (width <= 0 && height <= 0) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    const { clientWidth, clientHeight } = plot.over;
    // What reaches over all of an axis chooses nothing of it.
    this.zoom.show({
      ...(width > 0 && width < clientWidth ? { x: [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")] } : {}),
      ...(height > 0 && height < clientHeight ? { y: [plot.posToVal(top + height, "y"), plot.posToVal(top, "y")] } : {}),
    }, this.picture.extents());
  }

  /** Gives the places of values, in pixels of the page: for a program that reads the picture. */
  tell(plot: uPlot, log: boolean): void {
    const { x, y } = plot.scales;
    const { left, top, width, height } = plot.bbox;
    this.area = [left, top, width, height].map((length) => length / devicePixelRatio) as Area;
    this.box.dataset["scales"] = JSON.stringify({ x: [x!.min, x!.max], y: [y!.min, y!.max], log, area: this.area });
  }

  /** True if the pointer has left the picture, and the keys are not in it. */
  isLeft({ cursor }: uPlot): boolean {
    const out = cursor.left === undefined || cursor.left < 0 || cursor.top === undefined;
    if (out && document.activeElement !== this.box) this.picture.leave();
    return out;
  }

  /** Shows the tip beside a place in the plot, on the side where there is room. */
  show(plot: uPlot, [x, y]: [number, number], ...told: Node[]): void {
    this.tip.hidden = false;
    this.tip.replaceChildren(...told);
    if (this.begin) this.tip.append(h("div", { class: "exact" }, "A range begins: Enter ends it, Escape forgets it."));
    const [left, top] = [plot.over.offsetLeft + x, plot.over.offsetTop + y];
    const over = left + 16 + this.tip.offsetWidth > this.box.clientWidth;
    this.tip.style.left = `${Math.max(0, over ? left - 16 - this.tip.offsetWidth : left + 16)}px`;
    this.tip.style.top = `${Math.max(0, Math.min(top - this.tip.offsetHeight / 2, this.height - this.tip.offsetHeight))}px`;
  }

  private bar(): HTMLElement {
    const [more, less] = [button("+", "Zoom in"), button("−", "Zoom out")];
    more.addEventListener("click", () => this.scale(0.5));
    less.addEventListener("click", () => this.scale(2));
    this.all.addEventListener("click", () => this.zoom.show({}, this.picture.extents()));
    return h("div", { class: "zoom soft" }, more, less, this.all, this.status);
  }

  private say(): void {
    const whole = this.zoom.isWhole();
    this.all.disabled = whole;
    this.status.textContent = whole ? "Drag, pinch, or press + in the picture, to see a part larger." : `Shown: ${this.picture.shown()}.`;
  }

  private rescale(): void {
    this.begin = undefined;
    this.picture.rescale();
    this.say();
  }

  private scale(factor: number): void {
    this.zoom.scale(factor, this.picture.place() ?? {}, this.picture.extents());
  }

  private leave(): void {
    this.begin = undefined;
    this.picture.leave();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.action(event);
    if (act === undefined) return this.picture.onKey(event);
    event.preventDefault();
    act();
  }

  /** What a key does with the part that is shown. */
  private action({ key, shiftKey }: KeyboardEvent): (() => void) | undefined {
    const extents = this.picture.extents();
    const way = { ArrowLeft: ["x", -0.25], ArrowRight: ["x", 0.25], ArrowDown: ["y", -0.25], ArrowUp: ["y", 0.25] }[key] as [Axis, number] | undefined;
    if (way && shiftKey) return () => this.zoom.move(...way, extents);
    if (key === "Enter") return () => this.range(extents);
    const acts: Record<string, () => void> = {
      "+": () => this.scale(0.5),
      "=": () => this.scale(0.5),
      "-": () => this.scale(2),
      "0": () => this.zoom.show({}, extents),
      Escape: () => this.leave(),
    };
    return acts[key];
  }

  /** One end of a range at the place looked at, and at the next call the other. */
  private range(extents: Extents): void {
    const [begin, place] = [this.begin, this.picture.place()];
    if (place === undefined) return;
    if (begin === undefined) {
      this.begin = place;
      this.tip.append(h("div", { class: "exact" }, "A range begins here: go on with the arrow keys, Enter ends it."));
      return;
    }
    const ranges = (["x", "y"] as const).flatMap((axis) => {
      const [one, other] = [begin[axis], place[axis]];
      return one === undefined || other === undefined || one === other ? [] : [[axis, [Math.min(one, other), Math.max(one, other)]]];
    });
    if (ranges.length > 0) this.zoom.show(Object.fromEntries(ranges), extents);
  }
}

function button(text: string, label: string): HTMLButtonElement {
  return h("button", { type: "button", "aria-label": label, title: label }, text);
}
