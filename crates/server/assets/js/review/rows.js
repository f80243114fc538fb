// Turns the hunks of a file into rows, for one column or for two. Has no side effects.

// A row is `{ hunk }` or `{ line }` in one column, and `{ hunk }` or `{ left, right }` in two.
export function unifiedRows(file) {
  return file.hunks.flatMap((hunk) => [{ hunk: hunk.header }, ...hunk.lines.map((line) => ({ line }))]);
}

// Removed lines are next to the added lines that follow them.
export function splitRows(file) {
  const rows = [];
  for (const hunk of file.hunks) {
    rows.push({ hunk: hunk.header });
    let removed = [];
    let added = [];
    const flush = () => {
      for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
        rows.push({ left: removed[index] ?? null, right: added[index] ?? null });
      }
      removed = [];
      added = [];
    };
    for (const line of hunk.lines) {
      if (line.kind === 'del') {
        if (added.length) flush();
        removed.push(line);
      } else if (line.kind === 'add') {
        added.push(line);
      } else {
        flush();
        rows.push({ left: line, right: line });
      }
    }
    flush();
  }
  return rows;
}

// The position of a line, as in comments. Unchanged lines count as lines of the new file.
export const anchorOf = (line) => (line.kind === 'del' ? { side: 'old', line: line.old } : { side: 'new', line: line.new });
export const anchorKey = ({ side, line }) => `${side}:${line}`;

// Returns the keys of the lines in a row.
export function rowKeys(row) {
  if (row.line) return [anchorKey(anchorOf(row.line))];
  return [row.left, row.right].filter(Boolean).map((line) => anchorKey(anchorOf(line)));
}

// The width of a text in columns of a monospaced font: tabs and wide characters count more.
function columns(line) {
  let width = 0;
  for (const { text } of line.spans) {
    width += text.length;
    for (let at = text.indexOf('\t'); at >= 0; at = text.indexOf('\t', at + 1)) width += 3;
  }
  return width;
}

// Returns the height of a row in lines, if a line has this many columns before it wraps.
export function rowLines(row, perLine) {
  const lines = (line) => (line ? Math.max(1, Math.ceil(columns(line) / perLine)) : 1);
  if (row.hunk != null) return 1;
  return row.line ? lines(row.line) : Math.max(lines(row.left), lines(row.right));
}

// Returns a hash of what a diff shows of a file, to notice that it has changed since it was viewed.
export function contentHash(file) {
  let [a, b] = [0x811c9dc5, 0x01000193];
  const add = (text) => {
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      a = Math.imul(a ^ code, 0x01000193);
      b = Math.imul(b ^ code, 0x85ebca6b) ^ (b >>> 13);
    }
  };
  add(`${file.path}\n${file.change}\n${file.added} ${file.removed}\n`);
  for (const hunk of file.hunks) {
    for (const line of hunk.lines) {
      add(line.kind);
      for (const span of line.spans) add(span.text);
      add('\n');
    }
  }
  return (a >>> 0).toString(16).padStart(8, '0') + (b >>> 0).toString(16).padStart(8, '0');
}
