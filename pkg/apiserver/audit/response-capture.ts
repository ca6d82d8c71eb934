/** Captures response bodies for the audit log. */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { bareMediaType, mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { decodeEnvelope } from '#apimachinery/codec/protobuf/envelope.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Codec } from '#apiserver/resources/codec.js';

/** Limit of captured bytes of one response: that of a request's body. */
const maxBytes = 3 * 1024 * 1024;

export class Captured {
  #parts: Buffer[] = [];
  #size = 0;

  constructor(whole?: Buffer) {
    if (whole === undefined) return;
    this.#parts.push(whole);
    this.#size = whole.length;
  }

  /** Copies the bytes: their memory may be reused. */
  add(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size <= maxBytes) this.#parts.push(Buffer.from(bytes));
    else this.#parts = [];
  }

  /** Undefined if the response was too large. */
  get bytes(): Buffer | undefined {
    if (this.#size > maxBytes) return undefined;
    const [only] = this.#parts;
    return this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts, this.#size);
  }
}

export interface CaptureOptions {
  readonly dialect: Dialect;
  readonly codec: Pick<Codec, 'decode' | 'hasProtobuf' | 'shown'>;
  readonly omitManagedFields: boolean;
}

/** The response as one line of JSON; undefined if it has no JSON form. */
export function responseText(
  captured: Captured,
  contentType: string | undefined,
  { dialect, codec, omitManagedFields }: CaptureOptions,
): string | 'too large' | undefined {
  const { bytes } = captured;
  if (bytes === undefined) return 'too large';
  if (bytes.length === 0) return undefined;
  const type = bareMediaType(contentType);
  if (type === 'application/json') {
    const text = oneLine(bytes);
    return omitManagedFields ? withoutManagers(parseJSONText(text)) : text;
  }
  if (type !== mediaTypeOf('protobuf', dialect)) return undefined;
  const { apiVersion, kind } = decodeEnvelope(bytes);
  if (!codec.hasProtobuf({ apiVersion, kind })) return undefined;
  const { object } = codec.decode(bytes, 'protobuf', { apiVersion, kind }, { validation: 'Ignore' });
  const shown = codec.shown(object);
  return omitManagedFields ? withoutManagers(shown) : toJSONText(shown);
}

/** Removes line breaks, which occur only between JSON tokens: inside strings they are escaped. */
function oneLine(bytes: Buffer): string {
  return bytes
    .toString()
    .replace(/[\n\r]/g, ' ')
    .trim();
}

interface ManagedObject {
  metadata?: { managedFields?: unknown };
  items?: ManagedObject[];
}

function withoutManagers(value: unknown): string {
  const { metadata, items } = value as ManagedObject;
  if (metadata !== undefined) delete metadata.managedFields;
  for (const item of items ?? []) if (item.metadata !== undefined) delete item.metadata.managedFields;
  return toJSONText(value);
}
