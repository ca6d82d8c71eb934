/** Content negotiation (specification 1, 4.8). */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import { notAcceptable } from '#apimachinery/errors/status.js';

export type Format = 'json' | 'yaml' | 'protobuf';

/** What an object or list is turned into before it is encoded. */
export interface Transform {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** The meta group asked for, `v1` or `v1beta1`. */
  readonly group: string;
  readonly version: string;
}

export interface Negotiated {
  readonly format: Format;
  readonly transform?: Transform;
  readonly pretty: boolean;
}

export interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Most clauses of an Accept header that are looked at; the rest is ignored. */
const maxClauses = 64;

/** The clauses, best first; equal qualities stay in the header's order. */
export function parseAccept(header: string): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const text of header.split(',', maxClauses)) {
    const [media = '', ...rest] = text.split(';');
    const [type = '', subtype = ''] = media.trim().toLowerCase().split('/');
    if (type === '') continue;
    const parameters: Record<string, string> = {};
    let quality = 1;
    for (const parameter of rest) {
      const mark = parameter.indexOf('=');
      if (mark < 0) continue;
      const key = parameter.slice(0, mark).trim();
      const value = parameter.slice(mark + 1).trim();
      if (key === 'q') quality = Number.isNaN(Number(value)) ? 1 : Number(value);
      else parameters[key] = value;
    }
    clauses.push({ type, subtype: subtype === '' ? '*' : subtype, quality, parameters });
  }
  return clauses.sort((a, b) => b.quality - a.quality);
}

export function mediaTypeOf(format: Format, dialect: Dialect): string {
  if (format === 'json') return 'application/json';
  return format === 'yaml' ? 'application/yaml' : dialect.protobufMediaType;
}

/** The format of a Content-Type (parameters ignored), undefined when none is served. */
export function formatOf(contentType: string, dialect: Dialect): Format | undefined {
  const media = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (media === 'application/json') return 'json';
  if (media === 'application/yaml') return 'yaml';
  return media === dialect.protobufMediaType ? 'protobuf' : undefined;
}

export interface NegotiationOptions {
  readonly dialect: Dialect;
  readonly accept: string | undefined;
  readonly formats: readonly Format[];
  /** Transforms that the answer can have; empty where only the object itself makes sense. */
  readonly transforms: readonly Transform['kind'][];
  readonly pretty: string | null;
  readonly userAgent: string | undefined;
}

/** Chooses the answer's form. Throws 406 when nothing that the client accepts can be served. */
export function negotiate(options: NegotiationOptions): Negotiated {
  const { dialect, formats } = options;
  const pretty = wantsPretty(options);
  if (options.accept === undefined || options.accept === '' || options.accept === 'application/json') {
    return { format: 'json', pretty };
  }
  for (const clause of parseAccept(options.accept)) {
    for (const format of formats) {
      if (!matches(clause, mediaTypeOf(format, dialect))) continue;
      const transform = transformOf(clause, options);
      if (transform === 'unsupported') continue;
      const prettyHere = pretty || clause.parameters['pretty'] === '1';
      return transform === undefined ? { format, pretty: prettyHere } : { format, transform, pretty: prettyHere };
    }
  }
  throw notAcceptable(formats.map((format) => mediaTypeOf(format, dialect)));
}

function matches(clause: AcceptClause, mediaType: string): boolean {
  const [type, subtype] = mediaType.split('/');
  if (clause.type !== '*' && clause.type !== type) return false;
  return clause.subtype === '*' || clause.subtype === subtype;
}

/**
 * The server of any dialect answers requests for its own meta group and for that of the `kubernetes` dialect, which
 * every existing client asks for.
 */
function transformOf(clause: AcceptClause, options: NegotiationOptions): Transform | undefined | 'unsupported' {
  const { as: kind, g: group = '', v: version = '' } = clause.parameters;
  if (kind === undefined) return undefined;
  if (kind !== 'Table' && kind !== 'PartialObjectMetadata' && kind !== 'PartialObjectMetadataList')
    return 'unsupported';
  if (!options.transforms.includes(kind)) return 'unsupported';
  if (group !== options.dialect.groupName('meta') && group !== clientMetaGroup) return 'unsupported';
  if (version !== 'v1' && version !== 'v1beta1') return 'unsupported';
  return { kind, group, version };
}

const clientMetaGroup = kubernetesDialect.groupName('meta');

/** Browsers and curl get indented answers unless they say otherwise, as in 1.24. */
function wantsPretty(options: NegotiationOptions): boolean {
  if (options.pretty !== null) return options.pretty !== '' && options.pretty !== '0' && options.pretty !== 'false';
  return /^(curl|Wget|Mozilla\/5\.0)/.test(options.userAgent ?? '');
}
