/** A body that somebody listens to on its way. */
import { PartsBody, SeparatedParts } from '#http/server/parts-body.js';
import { type BodySink, PushedBody } from '#http/server/pushed-body.js';

export interface BodyListener {
  /** Absent: what there is does not matter. */
  readonly part?: ((bytes: Buffer) => void) | undefined;
  /** Once: nothing more comes, or nobody wants more. */
  ended(): void;
}

/** The same body. */
export function followed(body: AsyncIterable<Buffer>, listener: BodyListener): AsyncIterable<Buffer> {
  let over = false;
  const once: BodyListener = {
    part: listener.part,
    ended: () => {
      if (!over) listener.ended();
      over = true;
    },
  };
  if (body instanceof PushedBody) return new FollowedPushes(body, once);
  if (!(body instanceof PartsBody)) return new FollowedIterable(body, once);
  const { parts } = body;
  if (parts instanceof SeparatedParts) {
    // All that it is made of is there already, and it is written fastest as it is.
    if (once.part !== undefined)
      for (const part of new SeparatedParts({ ...parts.options, made: undefined })) once.part(part);
    once.ended();
    return body;
  }
  if (Symbol.iterator in parts) return body.with(followedParts(parts, once));
  return body.with(new FollowedIterable(parts, once));
}

function* followedParts(parts: Iterable<Buffer>, listener: BodyListener): Generator<Buffer, void, void> {
  try {
    for (const part of parts) {
      listener.part?.(part);
      yield part;
    }
  } finally {
    listener.ended();
  }
}

class FollowedPushes extends PushedBody {
  readonly #body: PushedBody;
  readonly #listener: BodyListener;

  constructor(body: PushedBody, listener: BodyListener) {
    super();
    this.#body = body;
    this.#listener = listener;
  }

  override start(sink: BodySink): void {
    this.#body.start({
      part: (bytes) => {
        this.#listener.part?.(bytes);
        return sink.part(bytes);
      },
      ended: (failure) => {
        this.#listener.ended();
        sink.ended(failure);
      },
    });
  }

  override resume(): void {
    this.#body.resume();
  }

  override stop(): void {
    this.#body.stop();
    this.#listener.ended();
  }
}

/** No generator: that would pass a `return` on only when what it waits for has come. */
class FollowedIterable implements AsyncIterable<Buffer> {
  readonly #source: AsyncIterable<Buffer>;
  readonly #listener: BodyListener;

  constructor(source: AsyncIterable<Buffer>, listener: BodyListener) {
    this.#source = source;
    this.#listener = listener;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const source = this.#source[Symbol.asyncIterator]();
    const listener = this.#listener;
    return {
      async next() {
        try {
          const item = await source.next();
          if (item.done === true) listener.ended();
          else listener.part?.(item.value);
          return item;
        } catch (error) {
          listener.ended();
          throw error;
        }
      },
      async return() {
        listener.ended();
        await source.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}
