import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    RangeAllocation: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      range: { number: 2, type: 'string', doc: 'The range, as text.' },
      data: { number: 3, type: 'bytes', doc: 'A bit for each member of the range that is in use.' },
    },
  },
  docs: {
    RangeAllocation: 'Which members of a range, of addresses or ports, are in use. Only for the system itself.',
  },
};
