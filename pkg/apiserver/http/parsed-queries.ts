/**
 * Queries of late, parsed: clients send few different ones again and again, and watches keep theirs as long as they last.
 * What comes out is shared, and only read.
 */
const most = 256;
/** Longer ones are seldom the same. */
const mostChars = 256;

export class ParsedQueries {
  readonly #recent = new Map<string, URLSearchParams>();

  readonly parse = (text: string): URLSearchParams => {
    if (text.length > mostChars) return new URLSearchParams(text);
    let query = this.#recent.get(text);
    if (query === undefined) {
      query = new URLSearchParams(text);
      if (this.#recent.size >= most) this.#recent.clear();
      this.#recent.set(text, query);
    }
    return query;
  };
}
