// Numbers as people read them.

const counts = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const UNITS = ["B", "K", "M", "G", "T", "P", "E"];

/** An exact count: 1,234,567. */
export function count(value: number): string {
  return counts.format(value);
}

/** A count in few characters: 1.2M. */
export function brief(value: number): string {
  const [unit, scale] = value >= 1e9 ? ["G", 1e9] : value >= 1e6 ? ["M", 1e6] : value >= 1e4 ? ["k", 1e3] : ["", 1];
  return scale === 1 ? significant(value) : `${significant(value / scale)}${unit}`;
}

/** Binary sizes: 4K, 1.5M. */
export function bytes(value: number): string {
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${significant(value)}${UNITS[unit]}`;
}

/** A share as a percentage with so many places. */
export function percent(share: number, places = 2): string {
  return `${(share * 100).toFixed(places)} %`;
}

/** The first unit alone where nothing is left for the second. */
function both(first: string, rest: number, unit: string): string {
  return rest === 0 ? first : `${first} ${rest} ${unit}`;
}

/** Seconds, in two units at most. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${seconds.toFixed(2)} s`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return both(`${minutes} min`, Math.floor(seconds % 60), "s");
  return both(`${Math.floor(minutes / 60)} h`, minutes % 60, "min");
}

/** Any other figure: four digits that mean something. */
export function figure(value: number): string {
  return Math.abs(value) >= 1000 || Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
}

function significant(value: number): string {
  return String(value >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
}
