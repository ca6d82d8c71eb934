/**
 * The JSON of an object without its bulk: for who wants to know little of many large objects, such as the names in
 * definitions with schemas of a megabyte. What is left out is skipped, not parsed.
 */
import {
  closeBrace,
  closeBracket,
  comma,
  JSONCursor,
  openBrace,
  openBracket,
} from '#apimachinery/codec/json/cursor.js';

/** Members that are left out, at any depth: those that are `true`. `*` are the elements of a list. */
export interface Omissions {
  readonly [member: string]: true | Omissions;
}

/**
 * In memory of its own. Of what is left out only the ends are looked for. Throws a SyntaxError where they are not found;
 * other errors are for who parses the result.
 */
export function outlineOf(json: Buffer, omissions: Omissions): Buffer {
  const outliner = new Outliner(new JSONCursor(json));
  outliner.value(omissions);
  outliner.cut(json.length, json.length);
  const { kept } = outliner;
  let length = 0;
  for (let i = 0; i < kept.length; i += 2) length += (kept[i + 1] as number) - (kept[i] as number);
  // Not from Node's shared pool: what is kept long would keep a whole slab of it alive.
  const outline = Buffer.allocUnsafeSlow(length);
  for (let i = 0, to = 0; i < kept.length; i += 2) to += json.copy(outline, to, kept[i], kept[i + 1]);
  return outline;
}

class Outliner {
  /** Start and end of the stretches that stay. */
  readonly kept: number[] = [];
  readonly #cursor: JSONCursor;
  #keptFrom = 0;

  constructor(cursor: JSONCursor) {
    this.#cursor = cursor;
  }

  /** Leaves out what is between. */
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
    /** Where what comes before the member ends, with the comma if there is one. */
    let before = cursor.at;
    let isFirst = true;
    while (!cursor.take(closeBrace)) {
      if (cursor.take(comma)) continue;
      const start = cursor.at;
      const omitted = omissions[cursor.name()];
      if (typeof omitted === 'object') this.value(omitted);
      else cursor.skipWhole();
      if (omitted === true) {
        // A comma goes with it: the one before, or behind the first that of the next.
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
