/** What a figure shows, as a table: on the page, and as CSV. */

export type Cell = string | number | null;

export interface Table {
  columns: string[];
  rows: Cell[][];
}

/** CSV as RFC 4180 has it; what is not known is empty. Numbers keep all their digits. */
export function csvOf(table: Table): string {
  const lines = [table.columns, ...table.rows].map((row) => row.map(field).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function field(value: Cell): string {
  if (value === null || (typeof value === "number" && !Number.isFinite(value))) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A cell as it is shown: numbers with two or three digits after the point. */
export function shownCell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return "";
  return Number.isInteger(value) ? String(value) : value.toFixed(3).replace("-", "−");
}
