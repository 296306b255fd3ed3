/** What a figure shows, as a table: on the page, and as CSV. */

export type Cell = string | number | boolean | null;

export interface Table {
  columns: string[];
  rows: Cell[][];
  /** Columns of float years, which are shown as dates; files keep the numbers. */
  dates?: string[];
}

/** Texts that spreadsheets would run as a formula, and plain numbers, which they cannot. As in `wordtide.cells`. */
const FORMULA = /^(?:'*\s*[=+\-@＝＋－＠]|'*[\t\n])/;
const NUMBER = /^[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
/** Control characters, what turns the direction of writing round, and halves of characters. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\p{Cs}]/gu;

/** CSV as RFC 4180 has it; what is not known is empty. Numbers keep all their digits, no text is a formula, and truth is spelled as in the library's files. */
export function csvOf(table: Table): string {
  const lines = [table.columns, ...table.rows].map((row) => row.map(field).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function field(value: Cell): string {
  if (value === null || (typeof value === "number" && !Number.isFinite(value))) return "";
  if (typeof value === "boolean") return value ? "True" : "False";
  const text = typeof value === "string" ? textCell(value) : String(value);
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A text as a cell: an apostrophe before what would be a formula, and what cannot be seen spelled out. */
function textCell(value: string): string {
  const text = value.replace(UNSEEN, (found) => spelledOut(found.charCodeAt(0)));
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

function spelledOut(code: number): string {
  const digits = code.toString(16);
  return code < 256 ? `\\x${digits.padStart(2, "0")}` : `\\u${digits.padStart(4, "0")}`;
}

/** A cell as it is shown: numbers with two or three digits after the point. */
export function shownCell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "";
  if (!Number.isFinite(value)) return "";
  return Number.isInteger(value) ? String(value) : value.toFixed(3).replace("-", "−");
}
