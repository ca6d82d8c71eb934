/**
 * Reads the items of lists in JSON. What managers own is often half of the text and the same for all objects of one maker,
 * so it is taken out before the rest is parsed, and each text of it is parsed once.
 */
import { comma, JSONCursor, openBrace } from '#apimachinery/codec/json/cursor.js';
import { InternTable } from '#apimachinery/intern-table.js';
import { jsonIn, parseJson } from '#client/rest/response.js';

const marker = Buffer.from('"fieldsV1":');
const fieldsType = { name: 'fieldsV1' };

export class JsonItemReader {
  readonly #table = new InternTable();

  /** The object; values of `fieldsV1` are frozen and shared with other objects. Throws TransportError for nonsense. */
  read(bytes: Buffer): unknown {
    const values: unknown[] = [];
    let rest = '';
    let done = 0;
    for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, done)) {
      const start = at + marker.length;
      const cursor = new JSONCursor(bytes, start);
      if (!isMember(bytes, at) || bytes[start] !== openBrace || !cursor.skip()) return parseJson(bytes);
      // Its number stands for it; numbers that stand for themselves were given up on above.
      rest += `${bytes.toString('utf8', done, start)}${values.length}`;
      done = cursor.at;
      try {
        values.push(this.#table.of(fieldsType, bytes, start, done, () => parseJson(bytes.subarray(start, done))));
      } catch {
        // The whole text, with that in it, tells what is wrong.
        return parseJson(bytes);
      }
    }
    if (values.length === 0) return parseJson(bytes);
    const object = jsonIn(rest + bytes.toString('utf8', done));
    return putBack(object, values) ? object : parseJson(bytes);
  }
}

/** Whether a quote begins the name of a member: inside a string there would be a backslash in front of it. */
function isMember(bytes: Buffer, at: number): boolean {
  const before = bytes[at - 1];
  return before === openBrace || before === comma;
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
