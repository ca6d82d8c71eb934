/**
 * Filters of tables, as typed: `web -test status:Running app=shop`. Every word must match: plain words anywhere in the row,
 * `column:text` in that column, `key=value` a label, `-word` must not match. Pure.
 */
import { type Column, columnIndex, type Row } from '#dashboard/model/table.js';

export type RowTest = (row: Row) => boolean;

/** Longer filters are cut off. */
const maxWords = 16;

export function parseFilter(text: string, columns: readonly Column[]): RowTest | undefined {
  const words = text
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '-')
    .slice(0, maxWords);
  if (words.length === 0) return undefined;
  const tests = words.map((word) => {
    if (!word.startsWith('-')) return wordTest(word, columns);
    const test = wordTest(word.slice(1), columns);
    return (row: Row) => !test(row);
  });
  return (row) => tests.every((test) => test(row));
}

function wordTest(word: string, columns: readonly Column[]): RowTest {
  const colon = word.indexOf(':');
  if (colon > 0) {
    const name = word.slice(0, colon).replaceAll('_', ' ');
    const rest = word.slice(colon + 1);
    if (name === 'namespace') return ({ namespace }) => namespace === rest;
    const index = columnIndex(columns, name);
    if (index >= 0)
      return ({ cells }) =>
        String(cells[index] ?? '')
          .toLowerCase()
          .includes(rest);
  }
  const equals = word.indexOf('=');
  if (equals > 0) {
    const key = word.slice(0, equals);
    const value = word.slice(equals + 1);
    return ({ labels }) => hasLabel(labels, key, value);
  }
  return ({ cells, namespace }) =>
    namespace.includes(word) || cells.some((cell) => cell !== null && String(cell).toLowerCase().includes(word));
}

/** Words are in lower case, keys of labels need not be. An empty value matches any. */
function hasLabel(labels: Row['labels'], key: string, value: string): boolean {
  if (labels === undefined) return false;
  for (const [name, held] of Object.entries(labels))
    if (name.toLowerCase() === key && (value === '' || held.toLowerCase() === value)) return true;
  return false;
}
