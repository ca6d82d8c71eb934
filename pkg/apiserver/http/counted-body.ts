/** Bodies whose size only writing them tells. */
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { PartsBody, SeparatedParts } from '#apiserver/http/parts-body.js';

type Body = ApiResponse['body'];

/** Bytes of the body, or undefined where only writing it tells. */
export function knownLength(body: Body): number | undefined {
  if (body === undefined) return 0;
  return Buffer.isBuffer(body) || body instanceof PartsBody ? body.length : undefined;
}

/** The same body; `made` is told how many bytes there were once they have all been asked for, or nobody wants more. */
export function counted(body: AsyncIterable<Buffer>, made: (bytes: number) => void): AsyncIterable<Buffer> {
  if (!(body instanceof PartsBody)) return new CountedIterable(body, made);
  const { parts } = body;
  if (parts instanceof SeparatedParts) return body.with(new SeparatedParts({ ...parts.options, made }));
  return body.with(Symbol.iterator in parts ? countedParts(parts, made) : new CountedIterable(parts, made));
}

function* countedParts(parts: Iterable<Buffer>, made: (bytes: number) => void): Generator<Buffer, void, void> {
  let bytes = 0;
  try {
    for (const part of parts) {
      bytes += part.length;
      yield part;
    }
  } finally {
    made(bytes);
  }
}

/** No generator: that would pass a `return` on only when what it waits for has come. */
class CountedIterable implements AsyncIterable<Buffer> {
  readonly #source: AsyncIterable<Buffer>;
  readonly #made: (bytes: number) => void;

  constructor(source: AsyncIterable<Buffer>, made: (bytes: number) => void) {
    this.#source = source;
    this.#made = made;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const source = this.#source[Symbol.asyncIterator]();
    let bytes = 0;
    let over = false;
    const end = () => {
      if (!over) this.#made(bytes);
      over = true;
    };
    return {
      async next() {
        const item = await source.next();
        if (item.done === true) end();
        else bytes += item.value.length;
        return item;
      },
      async return() {
        end();
        await source.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}
