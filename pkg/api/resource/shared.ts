import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Quantity: {
      string: { number: 1, type: 'string', jsonWrapper: true },
    },
    QuantityValue: {
      string: { number: 1, type: 'string', jsonWrapper: true },
    },
  },
};
