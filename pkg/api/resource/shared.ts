import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Quantity: {
      string: { number: 1, type: 'string', jsonWrapper: true, doc: 'The amount, as written.' },
    },
    QuantityValue: {
      string: { number: 1, type: 'string', jsonWrapper: true, doc: 'The amount, as written.' },
    },
  },
  docs: {
    Quantity:
      'An amount as a number with an optional suffix: `m` (thousandths), `k` `M` `G` `T` `P` `E` (powers of 1000), `Ki` `Mi` `Gi` `Ti` `Pi` `Ei` (powers of 1024), or an exponent such as `1e3`.',
    QuantityValue: 'An amount; see Quantity.',
  },
};
