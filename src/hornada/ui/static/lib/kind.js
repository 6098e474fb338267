// Files that are no JSONL at all, told from their beginning: a table, a list, an object over several lines, text, bytes.

const LOOKED_AT = 20;
const SHOWN = 3;
const NAMED = /\.(csv|tsv)$/i;

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isObject(line) {
  const found = parsed(line);
  return typeof found === "object" && found !== null && !Array.isArray(found);
}

// Whether a file begins as a list does that goes over several lines, or is one list.
const isList = (rows) => rows[0].trim().startsWith("[") && (rows.length === 1 || parsed(rows[0]) === undefined);

const cells = (line, mark) => line.split(mark).map((each) => each.trim().replace(/^"(.*)"$/, "$1"));

// The name of the column with the longest text in the first row: the one that is most likely asked.
function longest(head, row, mark) {
  const lengths = cells(row ?? "", mark).map((each) => each.length);
  return cells(head, mark)[lengths.indexOf(Math.max(...lengths))];
}

function separator(rows) {
  return [",", "\t", ";"].find((mark) => rows.length > 1 && rows.every((row) => row.includes(mark)));
}

// What a file is instead of JSONL: `kind`, its first `lines`, and of a table the `column` to ask; null for what may be
// JSONL with faults. `head`: its first characters; `whole`: they are all there are.
export function strange(head, name, whole) {
  const rows = head.split("\n").map((row) => row.replace(/\r$/, ""));
  if (!whole) rows.pop();
  const first = rows.filter((row) => row.trim()).slice(0, LOOKED_AT);
  if (!first.length) return null;
  const lines = first.slice(0, SHOWN);
  if (isList(first)) return { kind: "list", lines };
  if (first.some(isObject)) return null;
  if (head.startsWith("PAR1")) return { kind: "table", lines: [] };
  if (/[\0\ufffd]/.test(lines.join("\n"))) return { kind: "bytes", lines: [] };
  if (/^\s*\{/.test(first[0])) return first[0].trim() === "{" ? { kind: "spread", lines } : null;
  const mark = separator(first.slice(0, 5));
  if (mark || NAMED.test(name)) return { kind: "table", lines, column: longest(first[0], first[1], mark ?? ",") };
  return { kind: "text", lines };
}
