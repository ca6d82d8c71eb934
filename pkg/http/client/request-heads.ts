/** The header blocks of requests to one server. */
import type { ChannelRequest } from '#http/client/channel.js';
import { encodeHeaders } from '#http/http2/hpack.js';

/** Fields whose bytes are kept: requests of one client have nearly all of theirs in common. */
const maxKnown = 256;
/** What can stand in a field: Latin-1 without control characters. */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;

export class RequestHeads {
  readonly #scheme: string;
  readonly #authority: string;
  readonly #known = new Map<string, Buffer>();

  constructor({ host, protocol }: URL) {
    this.#scheme = protocol.slice(0, -1);
    this.#authority = host;
  }

  /** Throws TypeError for what cannot be sent. */
  of({ headers, method, path }: Pick<ChannelRequest, 'headers' | 'method' | 'path'>): Buffer {
    const parts = [
      this.#field(':method', method),
      this.#field(':scheme', this.#scheme),
      this.#field(':authority', this.#authority),
      encoded(':path', path),
    ];
    for (const name of Object.keys(headers)) {
      const value = headers[name];
      if (typeof value === 'string') parts.push(this.#field(name, value));
      else for (const one of value ?? []) parts.push(this.#field(name, one));
    }
    return Buffer.concat(parts);
  }

  #field(name: string, value: string): Buffer {
    const key = `${name}\0${value}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const bytes = encoded(name.toLowerCase(), value);
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.set(key, bytes);
    return bytes;
  }
}

function encoded(name: string, value: string): Buffer {
  if (!sendable.test(value)) throw new TypeError(`the value of ${name} cannot be sent in a header`);
  return encodeHeaders([[name, value]]);
}
