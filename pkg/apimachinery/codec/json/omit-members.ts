/**
 * Copies the JSON of an object without some large members, for readers that need little of many objects, such as the
 * names in definitions with schemas of a megabyte. Omitted members are skipped, not parsed.
 */
import {
  closeBrace,
  closeBracket,
  comma,
  JSONCursor,
  openBrace,
  openBracket,
} from '#apimachinery/codec/json/cursor.js';

/** Members to omit at any depth: those with `true`. `*` stands for the elements of a list. */
export interface Omissions {
  readonly [member: string]: true | Omissions;
}

/**
 * Returns a buffer of its own. Only finds the ends of omitted values: throws a SyntaxError if they are missing; other
 * syntax errors are left to the parser of the result.
 */
export function withoutMembers(json: Buffer, omissions: Omissions): Buffer {
  const outliner = new Outliner(new JSONCursor(json));
  outliner.value(omissions);
  outliner.cut(json.length, json.length);
  const { kept } = outliner;
  let length = 0;
  for (let i = 0; i < kept.length; i += 2) length += (kept[i + 1] as number) - (kept[i] as number);
  // Not from Node's shared pool, where a long-lived buffer would keep a whole slab alive.
  const outline = Buffer.allocUnsafeSlow(length);
  for (let i = 0, to = 0; i < kept.length; i += 2) to += json.copy(outline, to, kept[i], kept[i + 1]);
  return outline;
}

class Outliner {
  /** Start and end offsets of the retained ranges. */
  readonly kept: number[] = [];
  readonly #cursor: JSONCursor;
  #keptFrom = 0;

  constructor(cursor: JSONCursor) {
    this.#cursor = cursor;
  }

  /** Omits the bytes from start to end. */
  cut(start: number, end: number): void {
    if (start > this.#keptFrom) this.kept.push(this.#keptFrom, start);
    this.#keptFrom = end;
  }

  value(omissions: Omissions): void {
    const first = this.#cursor.next();
    if (first === openBrace) this.#object(omissions);
    else if (first === openBracket && typeof omissions['*'] === 'object') this.#list(omissions['*']);
    else this.#cursor.skipWhole();
  }

  #object(omissions: Omissions): void {
    const cursor = this.#cursor;
    cursor.at++;
    /** The end of the previous retained bytes, before a separating comma. */
    let before = cursor.at;
    let isFirst = true;
    while (!cursor.take(closeBrace)) {
      if (cursor.take(comma)) continue;
      const start = cursor.at;
      const omitted = omissions[cursor.name()];
      if (typeof omitted === 'object') this.value(omitted);
      else cursor.skipWhole();
      if (omitted === true) {
        // Also omits one comma: the preceding one, or the following one for the first member.
        let end = cursor.at;
        if (isFirst && cursor.next() === comma) end = cursor.at + 1;
        this.cut(isFirst ? start : before, end);
      } else isFirst = false;
      before = cursor.at;
    }
  }

  #list(omissions: Omissions): void {
    const cursor = this.#cursor;
    cursor.at++;
    while (!cursor.take(closeBracket)) if (!cursor.take(comma)) this.value(omissions);
  }
}
