import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    RangeAllocation: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      range: { number: 2, type: 'string' },
      data: { number: 3, type: 'bytes' },
    },
  },
};
