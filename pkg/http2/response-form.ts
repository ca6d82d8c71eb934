/**
 * Whether an answer has the form that HTTP asks for (RFC 9113, 8.1 to 8.3). One that has not says nothing that may be
 * acted upon: another program might read it in another way.
 */
import type { HeaderField } from '#http2/hpack.js';
import { BodyLength, strictFieldFault } from '#http2/message-form.js';

/** Three digits; 101 belongs to HTTP/1.1 alone. */
const statusPattern = /^(?!101)[1-5][0-9][0-9]$/;

export class ResponseForm {
  /** The headers that are not only informational have come; more are trailers. */
  #begun = false;
  #ended = false;
  readonly #length = new BodyLength();

  /** What is wrong with a block of headers; undefined: nothing. `ends`: nothing follows it. */
  headers(fields: readonly HeaderField[], ends: boolean): string | undefined {
    if (this.#ended) return 'headers after trailers';
    for (let i = this.#begun ? 0 : 1; i < fields.length; i++) {
      const field = fields[i] as HeaderField;
      const fault = strictFieldFault(field) ?? this.#lengthOf(field);
      if (fault !== undefined) return fault;
    }
    if (this.#begun) {
      this.#ended = ends;
      return ends ? this.#length.end() : 'trailers that do not end the answer';
    }
    const [name, status = ''] = fields[0] ?? [];
    if (name !== ':status' || !statusPattern.test(status)) return 'headers that do not begin with a status';
    if (!status.startsWith('1')) {
      this.#begun = true;
      // These have no body, whatever their length would be.
      if (status === '204' || status === '304') this.#length.expected = undefined;
      return ends ? this.#length.end() : undefined;
    }
    this.#length.expected = undefined;
    return ends ? 'an answer that is only informational' : undefined;
  }

  /** What is wrong with so many bytes of the body, or with their end. */
  data(length: number): string | undefined {
    return this.#begun ? this.#length.add(length) : 'data before headers';
  }

  /** What is wrong with an end behind data. */
  dataEnd(): string | undefined {
    return this.#begun ? this.#length.end() : 'an end before headers';
  }

  #lengthOf([name, value]: HeaderField): string | undefined {
    return name === 'content-length' && !this.#begun ? this.#length.announced(value) : undefined;
  }
}
