import { defineTypes, inlined, message, optional, required, shaped } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    RawExtension: shaped('rawJSON', 'An object of any kind, or other JSON.', {
      '~raw': required(1, 'bytes'),
    }),
    TypeMeta: message('Kind and version of an object.', {
      apiVersion: optional(1, 'string', "Group and version of the object's schema."),
      kind: optional(2, 'string', "Name of the object's schema."),
    }),
    Unknown: message('An object in encoded form, with its kind and version beside it.', {
      '~typeMeta': inlined(1, 'TypeMeta'),
      '~raw': required(2, 'bytes'),
      '~contentEncoding': required(3, 'string'),
      '~contentType': required(4, 'string'),
    }),
  },
});
