/**
 * Whether a request has the form that HTTP asks for (RFC 9113, 8.1 to 8.3 and 8.5). One that has not is not acted upon:
 * another program might read it in another way. What Go's server (golang.org/x/net/http2) takes all the same is taken.
 */
import type { HeaderField } from '#http2/hpack.js';
import { BodyLength, connectionFields, fieldFault, strictFieldFault } from '#http2/message-form.js';

const methodPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Neither spaces nor what controls something. */
const targetPattern = /^[\x21-\x7e\x80-\xff]+$/;
const schemePattern = /^[A-Za-z][A-Za-z0-9+\-.]*$/;

/** What the protocol itself says of a request. */
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

  /** Why the request is answered with 400, in the words of Go's server; undefined: it is not. */
  get invalid(): string | undefined {
    return this.#invalid;
  }

  /** Of the body, where the headers say it. */
  get length(): number | undefined {
    return this.#length.expected;
  }

  /** The request's target, or what is wrong with its head. `ends`: nothing follows it. */
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
    // Whatever length was announced: there is no body.
    if (ends) this.#length.expected = 0;
    return targetFault(target) ?? target;
  }

  /** What is wrong with the fields behind the body. */
  trailers(fields: readonly HeaderField[]): string | undefined {
    for (const field of fields) {
      const fault = strictFieldFault(field);
      if (fault !== undefined) return fault;
    }
    return this.#length.end();
  }

  /** What is wrong with so many bytes of the body. */
  data(length: number): string | undefined {
    return this.#length.add(length);
  }

  /** What is wrong with an end behind data. */
  dataEnd(): string | undefined {
    return this.#length.end();
  }

  #fieldFault(field: HeaderField): string | undefined {
    const [name, value] = field;
    if (connectionFields.has(name)) this.#invalid ??= `request header "${canonical(name)}" is not valid in HTTP/2`;
    else if (name === 'te') this.#transferEncoding(value);
    // The frames tell where the body ends; a length that cannot be is one of nothing.
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

/** As Go writes names: `Keep-Alive`. */
function canonical(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (begin) => begin.toUpperCase());
}

function pseudoFault(target: RequestTarget, [name, value]: HeaderField): string | undefined {
  switch (name) {
    case ':method':
      if (target.method !== '' || !methodPattern.test(value)) return 'a method that cannot be';
      target.method = value;
      return undefined;
    case ':path':
      if (target.path !== undefined || !targetPattern.test(value)) return 'a path that cannot be';
      target.path = value;
      return undefined;
    case ':scheme':
      if (target.scheme !== undefined || !schemePattern.test(value)) return 'a scheme that cannot be';
      target.scheme = value;
      return undefined;
    case ':authority':
      if (target.authority !== undefined || (value !== '' && !targetPattern.test(value))) {
        return 'an authority that cannot be';
      }
      target.authority = value;
      return undefined;
    default:
      return 'a request with a field that the protocol does not have';
  }
}

function targetFault({ method, scheme, authority, path }: RequestTarget): string | undefined {
  if (method === '') return 'a request without a method';
  if (method === 'CONNECT') {
    return authority === undefined || scheme !== undefined || path !== undefined ? 'a malformed CONNECT' : undefined;
  }
  if (scheme === undefined || path === undefined) return 'a request without a scheme or a path';
  if (!path.startsWith('/') && !(path === '*' && method === 'OPTIONS')) return 'a path that cannot be';
  return undefined;
}
