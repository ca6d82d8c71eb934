/**
 * Version 3 documents of paths that are not resources: discovery, the version, and the issuer of service account tokens.
 * Release 1.24 has one document per path, named after the path.
 */
import { createHash } from 'node:crypto';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { ForeignPart } from '#apiserver/openapi/aggregated-documents.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/document-types.js';
import { definitionName } from '#apiserver/openapi/names.js';
import { SchemaCollector } from '#apiserver/openapi/schemas.js';
import { configurationPath, jwksPath } from '#apiserver/serviceaccount/discovery.js';

export interface PlainDocumentsOptions {
  readonly scheme: Scheme;
  readonly dialect: Dialect;
  /** Names of the built-in groups, except the core group. */
  readonly groups: readonly string[];
  /** Other served paths, which reveal whether there is an issuer. */
  readonly paths: ReadonlySet<string>;
}

interface PlainDocument {
  /** Name of the document: `apis/apps`. */
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly description: string;
  readonly media: readonly string[];
  /** Schema of the response; undefined: plain text. */
  readonly schema?: (collector: SchemaCollector) => SchemaDocument;
}

/** The documents, by name. */
export function plainDocuments(options: PlainDocumentsOptions): ReadonlyMap<string, ForeignPart> {
  return new Map(descriptions(options).map((document) => [document.name, partOf(document, options)] as const));
}

function descriptions({ scheme, dialect, groups, paths }: PlainDocumentsOptions): PlainDocument[] {
  const json = ['application/json'];
  const all = [...json, 'application/yaml', dialect.protobufMediaType];
  const meta = (kind: string) => (collector: SchemaCollector) => {
    const reference = collector.reference(scheme.type(`meta.v1.${kind}`));
    for (const name of ['APIGroup', 'APIGroupList', 'APIVersions']) {
      const type = scheme.type(`meta.v1.${name}`);
      const isThere = Object.hasOwn(collector.schemas, definitionName(type, dialect));
      if (isThere) collector.markKind(type, { group: '', version: 'v1', kind: name });
    }
    return reference;
  };
  const root = dialect.apiDomain.split('.').reverse().join('.');
  const available = { description: 'get available API versions', media: all };
  return [
    { ...available, name: 'api', tag: 'core', id: 'getCoreAPIVersions', schema: meta('APIVersions') },
    { ...available, name: 'apis', tag: 'apis', id: 'getAPIVersions', schema: meta('APIGroupList') },
    ...groups.map((group) => {
      const tag = tagOf(group, dialect);
      const id = `get${tag.charAt(0).toUpperCase()}${tag.slice(1)}APIGroup`;
      const description = 'get information of a group';
      return { name: `apis/${group}`, tag, id, description, media: all, schema: meta('APIGroup') };
    }),
    {
      name: 'version',
      tag: 'version',
      id: 'getCodeVersion',
      description: 'get the code version',
      media: json,
      schema: (collector) => collector.named(`${root}.apimachinery.pkg.version.Info`, versionInfo),
    },
    ...(paths.has(configurationPath)
      ? [
          {
            name: configurationPath.slice(1),
            tag: 'WellKnown',
            id: 'getServiceAccountIssuerOpenIDConfiguration',
            description: "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
            media: json,
          },
        ]
      : []),
    ...(paths.has(jwksPath)
      ? [
          {
            name: jwksPath.slice(1),
            tag: 'openid',
            id: 'getServiceAccountIssuerOpenIDKeyset',
            description: 'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)',
            media: ['application/jwk-set+json'],
          },
        ]
      : []),
  ];
}

/** `apps`, `rbacAuthorization`, `flowcontrolApiserver`: without the common domain. */
function tagOf(group: string, { apiDomain }: Dialect): string {
  const own = group.endsWith(`.${apiDomain}`) ? group.slice(0, -apiDomain.length - 1) : group;
  return own.replace(/\.(.)/g, (_dot, letter: string) => letter.toUpperCase());
}

function partOf(
  { name, tag, id, description, media, schema }: PlainDocument,
  options: PlainDocumentsOptions,
): ForeignPart {
  const collector = new SchemaCollector(options.dialect, 3);
  const answer = schema?.(collector) ?? { type: 'string' };
  const operation = {
    tags: [tag],
    description,
    operationId: id,
    responses: {
      '200': { description: 'OK', content: Object.fromEntries(media.map((type) => [type, { schema: answer }])) },
      '401': { description: 'Unauthorized' },
    },
  };
  const paths: Record<string, PathDocument> = { [`/${name}/`]: { get: operation } };
  const definitions = collector.schemas;
  const hash = createHash('sha256')
    .update(JSON.stringify([paths, definitions]))
    .digest('hex');
  return { hash, paths, definitions };
}

const versionFields = [
  'major',
  'minor',
  'gitVersion',
  'gitCommit',
  'gitTreeState',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
];

const versionInfo: SchemaDocument = {
  type: 'object',
  description: 'Which release this is, and what it was built from and with.',
  required: versionFields,
  properties: Object.fromEntries(versionFields.map((name) => [name, { type: 'string', default: '' }])),
};
