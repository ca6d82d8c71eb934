/** Encodes header blocks of responses. */
import { encodeField } from '#http/http2/hpack.js';
import { connectionFields } from '#http/http2/message-form.js';

/** Allowed in a field value: Latin-1 without control characters. */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;
const namePattern = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Limit of names with a cached field. */
const maxFields = 256;

interface CachedField {
  readonly value: string;
  readonly bytes: Buffer;
}

export class ResponseHeads {
  readonly #now: () => number;
  #date = '';
  #dateSecond = 0;
  /** The last field of each name: most responses share nearly all fields with the previous one. */
  readonly #fields = new Map<string, CachedField>();

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * A response's header block, with a date unless `headers` has one. Names are in lower case; HTTP/1.1 connection
   * fields are dropped. `cookies`: values of `set-cookie`. Throws TypeErrors for invalid names and values.
   */
  of(status: number, headers: Readonly<Record<string, string>>, cookies: readonly string[] = []): Buffer {
    const parts = [this.#field(':status', String(status))];
    for (const name in headers) {
      if (connectionFields.has(name)) continue;
      if (!this.#fields.has(name) && !namePattern.test(name)) {
        throw new TypeError(`${JSON.stringify(name)} cannot be the name of a header`);
      }
      parts.push(this.#field(name, headers[name] as string));
    }
    for (const cookie of cookies) parts.push(this.#field('set-cookie', cookie));
    if (headers['date'] === undefined) parts.push(this.#field('date', this.#today()));
    return Buffer.concat(parts);
  }

  #today(): string {
    const nowMs = this.#now();
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#dateSecond) {
      this.#dateSecond = second;
      this.#date = new Date(nowMs).toUTCString();
    }
    return this.#date;
  }

  #field(name: string, value: string): Buffer {
    const cached = this.#fields.get(name);
    if (cached !== undefined && cached.value === value) return cached.bytes;
    if (!sendable.test(value)) throw new TypeError(`the value of ${name} cannot be sent in a header`);
    const bytes = encodeField(name, value);
    if (cached === undefined && this.#fields.size >= maxFields) this.#fields.clear();
    this.#fields.set(name, { value, bytes });
    return bytes;
  }
}
