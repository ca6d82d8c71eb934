import { defineTypes, required, shaped } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Quantity: shaped(
      'quantity',
      'An amount as a number with an optional suffix: `m` (thousandths), `k` `M` `G` `T` `P` `E` (powers of 1000), `Ki` `Mi` `Gi` `Ti` `Pi` `Ei` (powers of 1024), or an exponent such as `1e3`.',
      {
        string: required(1, 'string', 'The amount, as written.'),
      },
    ),
    QuantityValue: shaped('quantity', 'An amount; see Quantity.', {
      string: required(1, 'string', 'The amount, as written.'),
    }),
  },
});
