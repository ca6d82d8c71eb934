/** DNS names as bytes and as labels. */

const maxLabelBytes = 63;
const maxNameBytes = 255;

const lower = (letters: string): string => letters.toLowerCase();

/** Lower-cases ASCII letters only (RFC 4343). */
function folded(label: string): string {
  return label.replace(/[A-Z]+/g, lower);
}

export interface ReadName {
  /** Lower case, one character per byte. */
  readonly labels: readonly string[];
  /** Offset after the name. */
  readonly end: number;
}

/** Parses a question's name, which has no compression pointers; undefined if invalid. */
export function readQuestionName(bytes: Buffer, start: number): ReadName | undefined {
  const labels: string[] = [];
  for (let at = start; ; ) {
    const length = bytes[at];
    if (length === undefined || length > maxLabelBytes) return undefined;
    at += 1;
    if (length === 0) return at - start > maxNameBytes ? undefined : { labels, end: at };
    if (at + length > bytes.length || at + length - start > maxNameBytes) return undefined;
    labels.push(folded(bytes.toString('latin1', at, at + length)));
    at += length;
  }
}

/** Offset after a name anywhere in a message; undefined if truncated. Pointers are not followed. */
export function skipName(bytes: Buffer, start: number): number | undefined {
  for (let at = start; ; ) {
    const length = bytes[at];
    if (length === undefined) return undefined;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2 <= bytes.length ? at + 2 : undefined;
    if (length > maxLabelBytes) return undefined;
    at += 1 + length;
  }
}

/** Encodes a name. Throws RangeError if it is invalid. */
export function nameBytes(labels: readonly string[]): Buffer {
  const parts: Buffer[] = [];
  for (const label of labels) {
    const text = Buffer.from(label, 'latin1');
    if (text.length === 0 || text.length > maxLabelBytes) throw new RangeError(`no label of a name: "${label}"`);
    parts.push(Buffer.from([text.length]), text);
  }
  parts.push(Buffer.from([0]));
  const bytes = Buffer.concat(parts);
  if (bytes.length > maxNameBytes) throw new RangeError('a name is longer than 255 bytes');
  return bytes;
}

/** Labels of a textual name, with or without a trailing dot. */
export function labelsOf(name: string): string[] {
  const text = folded(name.endsWith('.') ? name.slice(0, -1) : name);
  return text === '' ? [] : text.split('.');
}

/** True if the name equals the domain or is below it. */
export function isWithin(labels: readonly string[], domain: readonly string[]): boolean {
  const offset = labels.length - domain.length;
  return offset >= 0 && domain.every((label, i) => labels[offset + i] === label);
}
