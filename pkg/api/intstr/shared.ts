import { defineTypes, required, shaped } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    IntOrString: shaped(
      'intOrString',
      "A whole number or a string, such as a port's number or name, or a count or a percentage.",
      {
        '~type': required(1, 'int64'),
        '~intVal': required(2, 'int32'),
        '~strVal': required(3, 'string'),
      },
    ),
  },
});
