/**
 * Writes YAML as go-yaml 2.4 does, so that output equals kubectl's to the letter: keys in natural order, lists without
 * indentation, long texts folded at 80 columns. Pure.
 */
import { keysInOrder } from '#cmd/orchctl/print/yaml/order.js';
import { scalarText } from '#cmd/orchctl/print/yaml/scalar.js';

/** The document; ends with a line break. */
export function yamlText(value: unknown): string {
  const parts: string[] = [];
  writeNode(parts, value, { indent: 0, column: 0, isRoot: true });
  const text = parts.join('');
  return text.endsWith('\n') ? text : `${text}\n`;
}

interface Place {
  /** Columns in front of the lines of a collection that begins here. */
  readonly indent: number;
  /** Column of the next character. */
  readonly column: number;
  readonly isRoot?: boolean;
}

function writeNode(parts: string[], value: unknown, place: Place): void {
  if (Array.isArray(value)) writeList(parts, value, place);
  else if (isMap(value)) writeMap(parts, value, place);
  else {
    // Continuation lines of a text are indented more than its parent.
    const indent = place.isRoot === true ? 2 : place.indent;
    parts.push(scalarText(value, { indent, column: place.column, isKey: false }), '\n');
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isMap(value) && Object.keys(value).length === 0;
}

/** The first item continues the line, which is already indented. */
function writeList(parts: string[], list: readonly unknown[], { indent }: Place): void {
  if (list.length === 0) {
    parts.push('[]\n');
    return;
  }
  list.forEach((item, index) => {
    if (index > 0) parts.push(' '.repeat(indent));
    parts.push('- ');
    writeNode(parts, item, { indent: indent + 2, column: indent + 2 });
  });
}

function writeMap(parts: string[], map: Readonly<Record<string, unknown>>, { indent }: Place): void {
  const keys = keysInOrder(Object.keys(map).filter((key) => map[key] !== undefined));
  if (keys.length === 0) {
    parts.push('{}\n');
    return;
  }
  keys.forEach((key, index) => {
    if (index > 0) parts.push(' '.repeat(indent));
    const name = scalarText(key, { indent, column: indent, isKey: true });
    parts.push(name, ':');
    const value = map[key];
    if (isEmpty(value) || !isMap(value)) {
      parts.push(' ');
      writeNode(parts, value, { indent: indent + 2, column: indent + name.length + 2 });
      return;
    }
    // Lists are not indented within maps.
    const inner = Array.isArray(value) ? indent : indent + 2;
    parts.push('\n', ' '.repeat(inner));
    writeNode(parts, value, { indent: inner, column: inner });
  });
}
