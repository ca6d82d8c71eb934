import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    RawExtension: {
      '~raw': { number: 1, type: 'bytes', protoName: 'raw' },
    },
    TypeMeta: {
      apiVersion: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: "Group and version of the object's schema.",
      },
      kind: { number: 2, type: 'string', omitempty: true, optional: true, doc: "Name of the object's schema." },
    },
    Unknown: {
      '~typeMeta': { number: 1, type: 'TypeMeta', inline: true, protoName: 'typeMeta' },
      '~raw': { number: 2, type: 'bytes', protoName: 'raw' },
      '~contentEncoding': { number: 3, type: 'string', protoName: 'contentEncoding' },
      '~contentType': { number: 4, type: 'string', protoName: 'contentType' },
    },
  },
  docs: {
    RawExtension: 'An object of any kind, or other JSON.',
    TypeMeta: 'Kind and version of an object.',
    Unknown: 'An object in encoded form, with its kind and version beside it.',
  },
};
