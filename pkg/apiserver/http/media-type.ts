/** Content negotiation (specification 1, 4.8), with the habits of 1.24 for people who look at answers. */
import { type Encoding, mediaTypeOf, negotiateResponse, type TransformRequest } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** What an object or list is turned into before it is encoded. */
export interface Transform {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** The meta group asked for, `v1` or `v1beta1`. */
  readonly group: string;
  readonly version: string;
}

/** Of objects and lists; those of the other one are refused when there is an answer to transform, as with 1.24. */
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
  /** Of what is not transformed; what is has all of them. */
  readonly formats: readonly Encoding[];
  /** Transforms that the answer can have; empty where only the object itself makes sense. */
  readonly transforms: readonly Transform['kind'][];
  /** Whether the transform has a Protobuf form; where it has none, the next acceptable one is taken. */
  readonly hasProtobuf: (transform: Transform) => boolean;
  /** The query parameter. */
  readonly pretty: string | null;
  readonly userAgent: string | undefined;
}

/** Chooses the answer's form. Throws 406 when nothing that the client accepts can be served. */
export function negotiate(options: NegotiationOptions): Negotiated {
  const { accept, dialect, formats, transforms } = options;
  const pretty = wantsPretty(options);
  // By far the most frequent case needs no parsing.
  if (accept === undefined || accept === mediaTypeOf('json', dialect)) return { format: 'json', pretty };
  // The kinds are offered, so none but these come.
  const isServed = (encoding: Encoding, as: TransformRequest | undefined) =>
    as === undefined || encoding !== 'protobuf' ? formats.includes(encoding) : options.hasProtobuf(as as Transform);
  const encodings = allEncodings.filter((encoding) => encoding === 'protobuf' || formats.includes(encoding));
  const chosen = negotiateResponse(accept, dialect, { encodings, transforms, isServed });
  const shown = { format: chosen.encoding, pretty: pretty || chosen.pretty };
  return chosen.as === undefined ? shown : { ...shown, transform: chosen.as as Transform };
}

/** What 1.24 takes for a yes here; anything else is a no. */
const truths = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Browsers and curl get indented answers unless they say otherwise. */
function wantsPretty({ pretty, userAgent }: NegotiationOptions): boolean {
  if (pretty !== null && pretty !== '') return truths.has(pretty);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent ?? '');
}
