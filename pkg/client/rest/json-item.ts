/**
 * Reads the items of lists in JSON. What managers own is often half of the text and the same for all objects of one maker,
 * so it is taken out before the rest is parsed, and each text of it is parsed once.
 */
import { comma, JSONCursor, openBrace } from '#apimachinery/codec/json/cursor.js';
import { type SharedValue, SharedValues } from '#apimachinery/codec/json/shared-values.js';
import { jsonIn, parseJson } from '#client/rest/response.js';

const marker = Buffer.from('"fieldsV1":');

/** Objects of one maker follow each other in lists; a status has a manager of its own. */
const maxRecent = 8;

export class JsonItemReader {
  readonly #values = new SharedValues();
  /** The last ones that were found, the latest first. */
  readonly #recent: SharedValue[] = [];

  /** The object; values of `fieldsV1` are frozen and shared with other objects. Throws TransportError for nonsense. */
  read(bytes: Buffer): unknown {
    const values: unknown[] = [];
    let rest = '';
    let done = 0;
    for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, done)) {
      const start = at + marker.length;
      const value = isMember(bytes, at) && bytes[start] === openBrace ? this.#valueAt(bytes, start) : undefined;
      if (value === undefined) return parseJson(bytes);
      // Its number stands for it; numbers that stand for themselves were given up on above.
      rest += `${bytes.toString('utf8', done, start)}${values.length}`;
      values.push(value.value);
      done = start + value.bytes.length;
    }
    if (values.length === 0) return parseJson(bytes);
    const object = jsonIn(rest + bytes.toString('utf8', done));
    return putBack(object, values) ? object : parseJson(bytes);
  }

  /** Undefined for what is no JSON, and for what is too long to share. */
  #valueAt(bytes: Buffer, start: number): SharedValue | undefined {
    const index = this.#recent.findIndex((known) => beginsWith(bytes, start, known.bytes));
    let value = this.#recent[index];
    if (value === undefined) {
      const cursor = new JSONCursor(bytes, start);
      if (!cursor.skip()) return undefined;
      try {
        value = this.#values.entry(bytes.subarray(start, cursor.at), parseJson);
      } catch {
        // The whole text, with that in it, tells what is wrong.
        return undefined;
      }
      if (value === undefined) return undefined;
      if (this.#recent.length === maxRecent) this.#recent.pop();
    } else if (index === 0) return value;
    else this.#recent.splice(index, 1);
    this.#recent.unshift(value);
    return value;
  }
}

/** Whether a quote begins the name of a member: inside a string there would be a backslash in front of it. */
function isMember(bytes: Buffer, at: number): boolean {
  const before = bytes[at - 1];
  return before === openBrace || before === comma;
}

function beginsWith(bytes: Buffer, start: number, known: Buffer): boolean {
  const end = start + known.length;
  return end <= bytes.length && bytes.compare(known, 0, known.length, start, end) === 0;
}

interface Managed {
  readonly metadata?: { readonly managedFields?: readonly ({ fieldsV1?: unknown } | null)[] } | null;
}

/** False when the numbers are not, in their order, where managers' fields are. */
function putBack(object: unknown, values: readonly unknown[]): boolean {
  const managers = (object as Managed | null)?.metadata?.managedFields;
  if (!Array.isArray(managers)) return false;
  let next = 0;
  for (const manager of managers) {
    if (typeof manager?.fieldsV1 !== 'number') continue;
    if (manager.fieldsV1 !== next || next === values.length) return false;
    manager.fieldsV1 = values[next++];
  }
  return next === values.length;
}
