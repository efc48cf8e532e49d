// Colours: the page's own from its style, and the palette of Okabe and Ito, which people with any colour vision can tell apart.

const PALETTE = ["#d55e00", "#009e73", "#cc79a7", "#e69f00"];

/** Colours of lines that are all different, beside the accent. */
export const HUES = PALETTE.length + 1;

/** Lines that get a colour and a label of their own; of more than these most are grey. */
export const COLOURED = 8;

/** A custom property of the page's style, which differs in dark and light. */
export function colour(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

/** The colour of the `at`-th line beside the one that stands out, whose accent is a blue of the same palette. */
export function hue(at: number): string {
  return PALETTE[at % HUES] ?? colour("--fifth");
}

const listeners = new Set<() => void>();

/** Calls `redraw` when colours change: dark and light, and for printing. */
export function onTheme(redraw: () => void): void {
  listeners.add(redraw);
}

for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  matchMedia(query).addEventListener("change", () => listeners.forEach((redraw) => redraw()));
}
