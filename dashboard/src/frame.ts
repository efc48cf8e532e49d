// The box that a picture stands in: it keeps its height, follows the width of the page, and has a tip beside what the reader looks at.

import type uPlot from "uplot";
import { h } from "./dom.ts";
import { onTheme } from "./theme.ts";

/** What a picture does in its box. */
interface Picture {
  /** Draws it anew, so wide. */
  build(width: number): void;
  onKey(event: KeyboardEvent): void;
  /** The reader looks at nothing any more. */
  leave(): void;
}

export class Frame {
  readonly element: HTMLElement;
  readonly box: HTMLElement;
  readonly tip = h("div", { class: "tip", hidden: "", "aria-live": "polite" });

  constructor(
    readonly height: number,
    private readonly picture: Picture,
  ) {
    this.box = h("div", { class: "plot", tabindex: "0", role: "application", style: `height:${height}px` });
    this.element = h("div", { class: "plot" }, this.box, this.tip);
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    this.box.addEventListener("blur", () => picture.leave());
    let width = 0;
    new ResizeObserver(() => {
      if (this.box.clientWidth === width) return;
      width = this.box.clientWidth;
      this.build();
    }).observe(this.box);
    onTheme(() => this.build());
  }

  /** Has the picture drawn, once the box is on the page. */
  build(): void {
    if (this.box.clientWidth > 0) this.picture.build(this.box.clientWidth);
  }

  /** Says what the keys do with what is shown. */
  label(text: string): void {
    this.box.setAttribute("aria-label", text);
  }

  /** Says where values lie, in pixels of the page: for whoever reads the picture back. */
  tell(plot: uPlot, log: boolean): void {
    const { x, y } = plot.scales;
    const { left, top, width, height } = plot.bbox;
    const area = [left, top, width, height].map((length) => length / devicePixelRatio);
    this.box.dataset["scales"] = JSON.stringify({ x: [x!.min, x!.max], y: [y!.min, y!.max], log, area });
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
    const [left, top] = [plot.over.offsetLeft + x, plot.over.offsetTop + y];
    const over = left + 16 + this.tip.offsetWidth > this.box.clientWidth;
    this.tip.style.left = `${Math.max(0, over ? left - 16 - this.tip.offsetWidth : left + 16)}px`;
    this.tip.style.top = `${Math.max(0, Math.min(top - this.tip.offsetHeight / 2, this.height - this.tip.offsetHeight))}px`;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") this.picture.leave();
    else this.picture.onKey(event);
  }
}
