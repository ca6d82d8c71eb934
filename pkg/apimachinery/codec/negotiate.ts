/** Which encoding a request's body has and which one its response gets (headers `Content-Type` and `Accept`). */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { notAcceptable, unsupportedMediaType } from '#apimachinery/errors/status.js';

export type Encoding = 'json' | 'yaml' | 'protobuf';

/** What an object is transformed into: `as=Table;g=…;v=v1`. */
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
  /** JSON for human eyes. */
  readonly pretty: boolean;
  /** `watch` where the client asks for the framed form. */
  readonly stream: string | undefined;
}

export interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  readonly params: Readonly<Record<string, string>>;
  /** 0 to 1. */
  readonly quality: number;
}

/** More clauses than this are not looked at: clients send three at most. */
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

/** The clauses of an `Accept` header, the most wanted first; equally wanted ones in their order, exact ones first. */
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
  /** In the order of preference when the client does not mind; default: JSON, YAML, Protobuf. */
  readonly encodings?: readonly Encoding[];
  /** Kinds into which the response can be transformed; default: none. */
  readonly transforms?: readonly string[];
  /** Whether the response has that encoding; default: always. */
  readonly isServed?: (encoding: Encoding, as: TransformRequest | undefined) => boolean;
}

const allEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf'];

/** The transformation that a clause asks for; `refused` when this response cannot be transformed like that. */
function transformOf(
  params: MediaRange['params'],
  offer: ResponseOffer,
  dialect: Dialect,
): TransformRequest | 'refused' | undefined {
  const { as: kind, g: group = '', v: version = '' } = params;
  if (kind === undefined) return undefined;
  // Clients of the other dialect are answered in the group that they ask for.
  const groups = [dialect.groupName('meta'), kubernetesDialect.groupName('meta')];
  const versions = ['v1', 'v1beta1'];
  if (!(offer.transforms ?? []).includes(kind) || !groups.includes(group) || !versions.includes(version))
    return 'refused';
  return { kind, group, version };
}

/** What the response will be. No header, or an empty one, asks for the first encoding. Throws 406 NotAcceptable. */
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

/** Whether a client takes anything that objects are encoded as, whatever they would have to be transformed into. */
export function acceptsAny(accept: string | undefined, dialect: Dialect): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return parseAccept(accept).some((range) => allEncodings.some((one) => matches(range, mediaTypeOf(one, dialect))));
}

/** How a body is encoded; without a header it is JSON. Throws 415 UnsupportedMediaType. */
export function requestEncoding(
  contentType: string | undefined,
  dialect: Dialect,
  encodings: readonly Encoding[] = allEncodings,
): Encoding {
  if (contentType === undefined || contentType.trim() === '') return encodings[0] ?? 'json';
  const range = parseRange(contentType);
  const asked = range === undefined ? '' : `${range.type}/${range.subtype}`;
  const found = encodings.find(
    (encoding) =>
      mediaTypeOf(encoding, dialect) === asked ||
      // The bytes are the same in both dialects, and clients of the other one know no other name for them.
      (encoding === 'protobuf' && mediaTypeOf(encoding, kubernetesDialect) === asked),
  );
  if (found === undefined) throw unsupportedMediaType(encodings.map((encoding) => mediaTypeOf(encoding, dialect)));
  return found;
}

/** The media type of a `Content-Type` header without its parameters, in lower case. */
export function bareMediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
