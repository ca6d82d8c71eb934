/** Content negotiation (specification 1, 4.8), with 1.24's indented output for browsers and curl. */
import { type Encoding, mediaTypeOf, negotiateResponse, type TransformRequest } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** The conversion of an object or list before it is encoded. */
export interface Transform {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** The requested meta group. */
  readonly group: string;
  /** `v1` or `v1beta1`. */
  readonly version: string;
}

/** The same for objects and lists: like 1.24, a mismatch is refused only once there is a response to transform. */
export const transforms: readonly Transform['kind'][] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];

const allEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf'];

export interface Negotiated {
  readonly format: Encoding;
  readonly transform?: Transform;
  readonly pretty: boolean;
}

export interface NegotiationOptions {
  readonly dialect: Dialect;
  readonly accept: string | undefined;
  /** Encodings of untransformed responses; transformed ones have all encodings. */
  readonly formats: readonly Encoding[];
  /** Transforms that the response supports; empty where only the object itself makes sense. */
  readonly transforms: readonly Transform['kind'][];
  /** Whether the transform has a Protobuf form; if not, negotiation tries the next accepted type. */
  readonly hasProtobuf: (transform: Transform) => boolean;
  /** The query parameter. */
  readonly pretty: string | null;
  readonly userAgent: string | undefined;
}

/** Chooses the response's form. Throws 406 when none of the accepted types can be served. */
export function negotiate(options: NegotiationOptions): Negotiated {
  const { accept, dialect, formats, transforms } = options;
  const pretty = wantsPretty(options);
  // Fast path: most requests accept plain JSON.
  if (accept === undefined || accept === mediaTypeOf('json', dialect)) return { format: 'json', pretty };
  // Negotiation chooses among `transforms`, so `as` is a Transform.
  const isServed = (encoding: Encoding, as: TransformRequest | undefined) =>
    as === undefined || encoding !== 'protobuf' ? formats.includes(encoding) : options.hasProtobuf(as as Transform);
  const encodings = allEncodings.filter((encoding) => encoding === 'protobuf' || formats.includes(encoding));
  const chosen = negotiateResponse(accept, dialect, { encodings, transforms, isServed });
  const shown = { format: chosen.encoding, pretty: pretty || chosen.pretty };
  return chosen.as === undefined ? shown : { ...shown, transform: chosen.as as Transform };
}

/** Values that 1.24 reads as true; all others are false. */
const truths = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Browsers and curl get indented responses by default. */
function wantsPretty({ pretty, userAgent }: NegotiationOptions): boolean {
  if (pretty !== null && pretty !== '') return truths.has(pretty);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent ?? '');
}
