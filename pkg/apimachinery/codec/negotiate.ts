/** Content negotiation: the encodings of request and response bodies (headers `Content-Type` and `Accept`). */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { notAcceptable, unsupportedMediaType } from '#apimachinery/errors/status.js';

export type Encoding = 'json' | 'yaml' | 'protobuf';

/** The requested transformation of an object: `as=Table;g=…;v=v1`. */
export interface TransformRequest {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
}

export interface Negotiated {
  readonly encoding: Encoding;
  /** For the response's `Content-Type`: `application/json`. */
  readonly mediaType: string;
  readonly as: TransformRequest | undefined;
  /** Indented JSON. */
  readonly pretty: boolean;
  /** `watch` if the client requests the framed form. */
  readonly stream: string | undefined;
}

export interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  readonly params: Readonly<Record<string, string>>;
  /** 0 to 1. */
  readonly quality: number;
}

/** Further clauses are ignored: clients send at most three. */
const maxClauses = 32;

function parseRange(text: string): MediaRange | undefined {
  const [media = '', ...rest] = text.split(';');
  const match = /^\s*([^\s/]+)\/([^\s/]+)\s*$/.exec(media);
  if (match === null) return media.trim() === '*' ? { type: '*', subtype: '*', params: {}, quality: 1 } : undefined;
  const params: Record<string, string> = {};
  let quality = 1;
  for (const part of rest) {
    const equals = part.indexOf('=');
    if (equals < 0) continue;
    const name = part.slice(0, equals).trim().toLowerCase();
    const value = part
      .slice(equals + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1');
    if (name === 'q') quality = Math.min(1, Math.max(0, Number(value) || 0));
    else if (name !== '__proto__') params[name] = value;
  }
  return { type: (match[1] ?? '').toLowerCase(), subtype: (match[2] ?? '').toLowerCase(), params, quality };
}

/** The clauses of an `Accept` header by preference; equal ones keep their order, with exact ones first. */
export function parseAccept(header: string): MediaRange[] {
  const ranges = header
    .split(',', maxClauses)
    .map(parseRange)
    .filter((range) => range !== undefined);
  const wildness = (range: MediaRange) => (range.type === '*' ? 2 : range.subtype === '*' ? 1 : 0);
  return ranges.sort((a, b) => b.quality - a.quality || wildness(a) - wildness(b));
}

/** The media type of an encoding. */
export function mediaTypeOf(encoding: Encoding, dialect: Dialect): string {
  return encoding === 'protobuf' ? dialect.protobufMediaType : `application/${encoding}`;
}

function matches(range: MediaRange, mediaType: string): boolean {
  const [type, subtype] = mediaType.split('/');
  return (range.type === '*' || range.type === type) && (range.subtype === '*' || range.subtype === subtype);
}

export interface ResponseOffer {
  /** In order of preference if the client accepts any; default: JSON, YAML, Protobuf. */
  readonly encodings?: readonly Encoding[];
  /** Kinds that the response can be transformed into; default: none. */
  readonly transforms?: readonly string[];
  /** Whether the response supports that encoding; default: always. */
  readonly isServed?: (encoding: Encoding, as: TransformRequest | undefined) => boolean;
}

const allEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf'];

/** The transformation of a clause; `refused` if this response does not support it. */
function transformOf(
  params: MediaRange['params'],
  offer: ResponseOffer,
  dialect: Dialect,
): TransformRequest | 'refused' | undefined {
  const { as: kind, g: group = '', v: version = '' } = params;
  if (kind === undefined) return undefined;
  // Clients of the other dialect get the group that they request.
  const groups = [dialect.groupName('meta'), kubernetesDialect.groupName('meta')];
  const versions = ['v1', 'v1beta1'];
  if (!(offer.transforms ?? []).includes(kind) || !groups.includes(group) || !versions.includes(version))
    return 'refused';
  return { kind, group, version };
}

/** The negotiated response. No header, or an empty one, selects the first encoding. Throws 406 NotAcceptable. */
export function negotiateResponse(accept: string | undefined, dialect: Dialect, offer: ResponseOffer = {}): Negotiated {
  const encodings = offer.encodings ?? allEncodings;
  const ranges = parseAccept(accept === undefined || accept.trim() === '' ? '*/*' : accept);
  for (const range of ranges) {
    if (range.quality === 0) continue;
    const encoding = encodings.find((candidate) => matches(range, mediaTypeOf(candidate, dialect)));
    const as = transformOf(range.params, offer, dialect);
    if (encoding === undefined || as === 'refused' || offer.isServed?.(encoding, as) === false) continue;
    const { pretty, stream } = range.params;
    return {
      encoding,
      mediaType: mediaTypeOf(encoding, dialect),
      as,
      pretty: pretty === '1' || pretty === 'true',
      stream,
    };
  }
  throw notAcceptable(encodings.map((encoding) => mediaTypeOf(encoding, dialect)));
}

/** Whether a client accepts any encoding of objects, regardless of transformations. */
export function acceptsAny(accept: string | undefined, dialect: Dialect): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return parseAccept(accept).some((range) => allEncodings.some((one) => matches(range, mediaTypeOf(one, dialect))));
}

/** The encoding of a request body; the default is JSON. Throws 415 UnsupportedMediaType. */
export function requestEncoding(
  contentType: string | undefined,
  dialect: Dialect,
  encodings: readonly Encoding[] = allEncodings,
): Encoding {
  if (contentType === undefined || contentType.trim() === '') return encodings[0] ?? 'json';
  const range = parseRange(contentType);
  const mediaType = range === undefined ? '' : `${range.type}/${range.subtype}`;
  const encoding = encodings.find(
    (encoding) =>
      mediaTypeOf(encoding, dialect) === mediaType ||
      // Both dialects have the same bytes, and clients of the other dialect use only its media type.
      (encoding === 'protobuf' && mediaTypeOf(encoding, kubernetesDialect) === mediaType),
  );
  if (encoding === undefined) throw unsupportedMediaType(encodings.map((encoding) => mediaTypeOf(encoding, dialect)));
  return encoding;
}

/** The media type of a `Content-Type` header without parameters, in lower case. */
export function bareMediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
