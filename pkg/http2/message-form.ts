/** What the headers of requests and answers have in common (RFC 9113, 8.1 and 8.2). */
import type { HeaderField } from '#http2/hpack.js';

/** A token without capitals. */
const namePattern = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/**
 * Control characters other than the tab. Blanks around a value are part of it, as for Go's servers: clients send them,
 * and most of those try again for ever where their stream is reset.
 */
const badValuePattern = /[\0-\x08\x0a-\x1f\x7f]/;
const lengthPattern = /^[0-9]{1,15}$/;
/** Fields that speak of a connection of HTTP/1.1. */
export const connectionFields: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** What is wrong with a field that is none of the protocol's own; undefined: nothing. */
export function fieldFault([name, value]: HeaderField): string | undefined {
  if (!namePattern.test(name)) return 'a header that a message cannot have';
  return badValuePattern.test(value) ? 'a header whose value cannot be' : undefined;
}

/** The same of a field in a message that may not speak of connections, either. */
export function strictFieldFault(field: HeaderField): string | undefined {
  return fieldFault(field) ?? (connectionFields.has(field[0]) ? 'a header of HTTP/1.1' : undefined);
}

/** A body whose headers say how long it is: whether it is. */
export class BodyLength {
  /** Bytes that `content-length` speaks of. */
  expected: number | undefined;
  #received = 0;

  /** What is wrong with what `content-length` says. */
  announced(value: string): string | undefined {
    const length = Number(value);
    if (!lengthPattern.test(value) || (this.expected ?? length) !== length) return 'a length that cannot be';
    this.expected = length;
    return undefined;
  }

  /** What is wrong with so many more bytes. */
  add(length: number): string | undefined {
    this.#received += length;
    return this.#received > (this.expected ?? Number.POSITIVE_INFINITY) ? 'more data than was said' : undefined;
  }

  /** What is wrong with an end here. */
  end(): string | undefined {
    return this.#received === (this.expected ?? this.#received) ? undefined : 'less data than was said';
  }
}
