import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    RawExtension: {
      '~raw': { number: 1, type: 'bytes', protoName: 'raw' },
    },
    TypeMeta: {
      apiVersion: { number: 1, type: 'string', omitempty: true, optional: true },
      kind: { number: 2, type: 'string', omitempty: true, optional: true },
    },
    Unknown: {
      '~typeMeta': { number: 1, type: 'TypeMeta', inline: true, protoName: 'typeMeta' },
      '~raw': { number: 2, type: 'bytes', protoName: 'raw' },
      '~contentEncoding': { number: 3, type: 'string', protoName: 'contentEncoding' },
      '~contentType': { number: 4, type: 'string', protoName: 'contentType' },
    },
  },
};
