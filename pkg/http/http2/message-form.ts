/** Validates requests and responses (RFC 9113, 8.1 to 8.3). */
import type { HeaderField } from '#http/http2/hpack.js';

const methodPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** No spaces and no control characters. */
const targetPattern = /^[\x21-\x7e\x80-\xff]+$/;
const schemePattern = /^[A-Za-z][A-Za-z0-9+\-.]*$/;

/** Pseudo-header fields of a request. */
export interface RequestTarget {
  method: string;
  scheme: string | undefined;
  authority: string | undefined;
  path: string | undefined;
}

export class RequestForm {
  readonly #length = new BodyLength();
  #invalid: string | undefined;
  #encodings = 0;

  /** Why the request is answered with 400, in the words of Go's server; undefined if valid. */
  get invalid(): string | undefined {
    return this.#invalid;
  }

  /** Body length from content-length. */
  get length(): number | undefined {
    return this.#length.expected;
  }

  /** Returns the request's target, or the fault in its head. `ends`: no body follows. */
  head(fields: readonly HeaderField[], ends: boolean): RequestTarget | string {
    const target: RequestTarget = { method: '', scheme: undefined, authority: undefined, path: undefined };
    let at = 0;
    for (; at < fields.length; at++) {
      const field = fields[at] as HeaderField;
      if (!field[0].startsWith(':')) break;
      const fault = pseudoFault(target, field);
      if (fault !== undefined) return fault;
    }
    for (; at < fields.length; at++) {
      const fault = this.#fieldFault(fields[at] as HeaderField);
      if (fault !== undefined) return fault;
    }
    // There is no body, whatever content-length says.
    if (ends) this.#length.expected = 0;
    return targetFault(target) ?? target;
  }

  /** Validates trailers; returns the fault, if any. */
  trailers(fields: readonly HeaderField[]): string | undefined {
    for (const field of fields) {
      const fault = strictFieldFault(field);
      if (fault !== undefined) return fault;
    }
    return this.#length.end();
  }

  /** Counts body bytes; returns the fault, if any. */
  data(length: number): string | undefined {
    return this.#length.add(length);
  }

  /** Checks the length at an end after data; returns the fault, if any. */
  dataEnd(): string | undefined {
    return this.#length.end();
  }

  #fieldFault(field: HeaderField): string | undefined {
    const [name, value] = field;
    if (connectionFields.has(name)) this.#invalid ??= `request header "${canonical(name)}" is not valid in HTTP/2`;
    else if (name === 'te') this.#transferEncoding(value);
    // Frames delimit the body; an invalid length counts as zero.
    else if (name === 'content-length' && this.#length.expected === undefined) {
      if (this.#length.announced(value) !== undefined) this.#length.expected = 0;
    }
    return fieldFault(field);
  }

  #transferEncoding(value: string): void {
    this.#encodings += 1;
    if (this.#encodings === 1 && (value === '' || value === 'trailers')) return;
    this.#invalid ??= 'request header "TE" may only be "trailers" in HTTP/2';
  }
}

/** Go's spelling of a name: `Keep-Alive`. */
function canonical(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (begin) => begin.toUpperCase());
}

function pseudoFault(target: RequestTarget, [name, value]: HeaderField): string | undefined {
  switch (name) {
    case ':method':
      if (target.method !== '' || !methodPattern.test(value)) return 'invalid method';
      target.method = value;
      return undefined;
    case ':path':
      if (target.path !== undefined || !targetPattern.test(value)) return 'invalid path';
      target.path = value;
      return undefined;
    case ':scheme':
      if (target.scheme !== undefined || !schemePattern.test(value)) return 'invalid scheme';
      target.scheme = value;
      return undefined;
    case ':authority':
      if (target.authority !== undefined || (value !== '' && !targetPattern.test(value))) {
        return 'invalid authority';
      }
      target.authority = value;
      return undefined;
    default:
      return 'unknown pseudo-header field';
  }
}

function targetFault({ method, scheme, authority, path }: RequestTarget): string | undefined {
  if (method === '') return 'request without a method';
  if (method === 'CONNECT') {
    return authority === undefined || scheme !== undefined || path !== undefined ? 'malformed CONNECT' : undefined;
  }
  if (scheme === undefined || path === undefined) return 'request without a scheme or path';
  if (!path.startsWith('/') && !(path === '*' && method === 'OPTIONS')) return 'invalid path';
  return undefined;
}

/** Three digits; 101 exists only in HTTP/1.1. */
const statusPattern = /^(?!101)[1-5][0-9][0-9]$/;

/**
 * Validates a response. An invalid one must not be used: another program might read it differently (RFC 9113, 8.1 to
 * 8.3).
 */
export class ResponseForm {
  /** The final headers have arrived; further ones are trailers. */
  #begun = false;
  #ended = false;
  readonly #length = new BodyLength();

  /** Validates a header block; returns the fault, if any. `ends`: no more data follows. */
  headers(fields: readonly HeaderField[], ends: boolean): string | undefined {
    if (this.#ended) return 'headers after trailers';
    for (let i = this.#begun ? 0 : 1; i < fields.length; i++) {
      const field = fields[i] as HeaderField;
      const fault = strictFieldFault(field) ?? this.#lengthOf(field);
      if (fault !== undefined) return fault;
    }
    if (this.#begun) {
      this.#ended = ends;
      return ends ? this.#length.end() : 'trailers without END_STREAM';
    }
    const [name, status = ''] = fields[0] ?? [];
    if (name !== ':status' || !statusPattern.test(status)) return 'headers do not start with a valid :status';
    if (!status.startsWith('1')) {
      this.#begun = true;
      // These responses have no body, whatever content-length says.
      if (status === '204' || status === '304') this.#length.expected = undefined;
      return ends ? this.#length.end() : undefined;
    }
    this.#length.expected = undefined;
    return ends ? 'response ended after informational headers' : undefined;
  }

  /** Counts body bytes; returns the fault, if any. */
  data(length: number): string | undefined {
    return this.#begun ? this.#length.add(length) : 'data before headers';
  }

  /** Checks the length at an end after data; returns the fault, if any. */
  dataEnd(): string | undefined {
    return this.#begun ? this.#length.end() : 'end before headers';
  }

  #lengthOf([name, value]: HeaderField): string | undefined {
    return name === 'content-length' && !this.#begun ? this.#length.announced(value) : undefined;
  }
}

/** A lower-case token. */
const namePattern = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/**
 * Control characters except tab. Surrounding blanks are part of the value, as in Go's servers: some clients send them,
 * and most of those retry for ever if their stream is reset.
 */
const badValuePattern = /[\0-\x08\x0a-\x1f\x7f]/;
const lengthPattern = /^[0-9]{1,15}$/;
/** Connection fields of HTTP/1.1. */
export const connectionFields: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** The fault in a regular field, if any. */
function fieldFault([name, value]: HeaderField): string | undefined {
  if (!namePattern.test(name)) return 'invalid header name';
  return badValuePattern.test(value) ? 'invalid header value' : undefined;
}

/** Also refuses connection fields. */
function strictFieldFault(field: HeaderField): string | undefined {
  return fieldFault(field) ?? (connectionFields.has(field[0]) ? 'HTTP/1.1 connection header' : undefined);
}

/** Compares a body with its announced length. */
class BodyLength {
  /** Announced bytes. */
  expected: number | undefined;
  #received = 0;

  /** Reads a content-length; returns the fault, if any. */
  announced(value: string): string | undefined {
    const length = Number(value);
    if (!lengthPattern.test(value) || (this.expected ?? length) !== length) return 'invalid content-length';
    this.expected = length;
    return undefined;
  }

  /** Counts bytes; returns the fault, if any. */
  add(length: number): string | undefined {
    this.#received += length;
    return this.#received > (this.expected ?? Number.POSITIVE_INFINITY) ? 'more data than content-length' : undefined;
  }

  /** Checks the length at the end; returns the fault, if any. */
  end(): string | undefined {
    return this.#received === (this.expected ?? this.#received) ? undefined : 'less data than content-length';
  }
}
