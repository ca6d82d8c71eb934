/**
 * Whether an answer has the form that HTTP asks for (RFC 9113, 8.1 to 8.3). One that has not says nothing that may be
 * acted upon: another program might read it in another way.
 */
import type { HeaderField } from '#http2/hpack.js';

/** Visible characters other than capitals and the colon. */
const namePattern = /^[!-9;-@[-~]+$/;
const badValuePattern = /[\0\r\n]|^[ \t]|[ \t]$/;
/** Three digits; 101 belongs to HTTP/1.1 alone. */
const statusPattern = /^(?!101)[1-5][0-9][0-9]$/;
const lengthPattern = /^[0-9]{1,15}$/;
/** Fields that speak of a connection of HTTP/1.1. */
const connectionFields = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

export class ResponseForm {
  /** The headers that are not only informational have come; more are trailers. */
  #begun = false;
  #ended = false;
  /** Bytes of the body that `content-length` speaks of. */
  #expected: number | undefined;
  #received = 0;

  /** What is wrong with a block of headers; undefined: nothing. `ends`: nothing follows it. */
  headers(fields: readonly HeaderField[], ends: boolean): string | undefined {
    if (this.#ended) return 'headers after trailers';
    for (let i = this.#begun ? 0 : 1; i < fields.length; i++) {
      const fault = this.#fieldFault(fields[i] as HeaderField);
      if (fault !== undefined) return fault;
    }
    if (this.#begun) {
      this.#ended = ends;
      return ends ? this.#lengthFault() : 'trailers that do not end the answer';
    }
    const [name, status = ''] = fields[0] ?? [];
    if (name !== ':status' || !statusPattern.test(status)) return 'headers that do not begin with a status';
    if (!status.startsWith('1')) {
      this.#begun = true;
      // These have no body, whatever their length would be.
      if (status === '204' || status === '304') this.#expected = undefined;
      return ends ? this.#lengthFault() : undefined;
    }
    this.#expected = undefined;
    return ends ? 'an answer that is only informational' : undefined;
  }

  /** What is wrong with so many bytes of the body, or with their end. */
  data(length: number): string | undefined {
    if (!this.#begun) return 'data before headers';
    this.#received += length;
    return this.#received > (this.#expected ?? Number.POSITIVE_INFINITY) ? 'more data than was said' : undefined;
  }

  /** What is wrong with an end behind data. */
  dataEnd(): string | undefined {
    return this.#begun ? this.#lengthFault() : 'an end before headers';
  }

  #lengthFault(): string | undefined {
    return this.#received === (this.#expected ?? this.#received) ? undefined : 'less data than was said';
  }

  #fieldFault([name, value]: HeaderField): string | undefined {
    if (!namePattern.test(name)) return 'a header that an answer cannot have';
    if (badValuePattern.test(value)) return 'a header whose value cannot be';
    if (connectionFields.has(name)) return 'a header of HTTP/1.1';
    if (name === 'content-length' && !this.#begun) {
      const length = Number(value);
      if (!lengthPattern.test(value) || (this.#expected ?? length) !== length) return 'a length that cannot be';
      this.#expected = length;
    }
    return undefined;
  }
}
