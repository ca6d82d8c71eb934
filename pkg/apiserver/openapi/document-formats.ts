/** The formats of documents: the encoding of their entries, and the bytes around these. */

import type { PathDocument, SchemaDocument } from '#apiserver/openapi/document-types.js';
import { delimiter } from '#apiserver/openapi/protobuf-message.js';
import { documentV2Fields, headV2, pathV2, schemaV2 } from '#apiserver/openapi/protobuf-v2.js';
import { documentV3Fields, headV3, pathV3, schemaV3 } from '#apiserver/openapi/protobuf-v3.js';
import type { OpenApiVersion } from '#apiserver/openapi/schemas.js';

export interface DocumentInfo {
  readonly title: string;
  readonly version: string;
}

/** Lengths of the entries of both maps, including separators. */
export interface Lengths {
  readonly paths: number;
  readonly schemas: number;
}

export interface DocumentFormat {
  readonly name: 'v2 json' | 'v2 protobuf' | 'v3 json' | 'v3 protobuf';
  readonly version: OpenApiVersion;
  /** The response's content type. */
  readonly contentType: string;
  /** Media types that clients may request. */
  readonly accepted: readonly string[];
  /** Bytes between entries. */
  readonly separator: Buffer;
  path(name: string, path: PathDocument): Buffer;
  schema(name: string, schema: SchemaDocument): Buffer;
  /** The bytes before the paths, between paths and schemas, and after the schemas. */
  frame(info: DocumentInfo, lengths: Lengths): readonly [Buffer, Buffer, Buffer];
}

const entry = (name: string, value: object): Buffer => Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
const json = {
  contentType: 'application/json',
  accepted: ['application/json', 'application/*', '*/*'],
  separator: Buffer.from(','),
  path: entry,
  schema: entry,
};
const nothing = Buffer.alloc(0);

/** Responses have another media type than requests, since `@` is not allowed in one. */
function protobuf(version: OpenApiVersion) {
  const contentType = `application/com.github.proto-openapi.spec.v${version}.v1.0+protobuf`;
  const requestedType = `application/com.github.proto-openapi.spec.v${version}@v1.0+protobuf`;
  return { contentType, accepted: [requestedType, contentType], separator: nothing };
}

const jsonV2: DocumentFormat = {
  ...json,
  name: 'v2 json',
  version: 2,
  frame: (info) => [
    Buffer.from(`{"swagger":"2.0","info":${JSON.stringify(info)},"paths":{`),
    Buffer.from('},"definitions":{'),
    Buffer.from('}}'),
  ],
};

const jsonV3: DocumentFormat = {
  ...json,
  name: 'v3 json',
  version: 3,
  frame: (info) => [
    Buffer.from(`{"openapi":"3.0.0","info":${JSON.stringify(info)},"paths":{`),
    Buffer.from('},"components":{"schemas":{'),
    Buffer.from('}}}'),
  ],
};

const protobufV2: DocumentFormat = {
  ...protobuf(2),
  name: 'v2 protobuf',
  version: 2,
  path: pathV2,
  schema: schemaV2,
  frame: (info, { paths, schemas }) => [
    Buffer.concat([headV2(info), delimiter(documentV2Fields.paths, paths)]),
    delimiter(documentV2Fields.definitions, schemas),
    nothing,
  ],
};

const protobufV3: DocumentFormat = {
  ...protobuf(3),
  name: 'v3 protobuf',
  version: 3,
  path: pathV3,
  schema: schemaV3,
  frame: (info, { paths, schemas }) => {
    const inner = delimiter(documentV3Fields.schemas, schemas);
    return [
      Buffer.concat([headV3(info), delimiter(documentV3Fields.paths, paths)]),
      Buffer.concat([delimiter(documentV3Fields.components, inner.length + schemas), inner]),
      nothing,
    ];
  },
};

/** Formats by version; JSON first. */
export const formats: Readonly<Record<OpenApiVersion, readonly [DocumentFormat, DocumentFormat]>> = {
  2: [jsonV2, protobufV2],
  3: [jsonV3, protobufV3],
};
