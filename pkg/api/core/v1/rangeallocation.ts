import { defineTypes, object, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    RangeAllocation: object('Which members of a range, of addresses or ports, are in use. Only for the system itself.', {
      range: required(2, 'string', 'The range, as text.'),
      data: required(3, 'bytes', 'A bit for each member of the range that is in use.'),
    }),
  },
});
