import type { OptionTable } from '#daemon/options/option.js';

export const outputOption = {
  output: {
    type: 'string',
    shorthand: 'o',
    oneOf: ['table', 'json'],
    default: 'table',
    section: 'Output',
    meaning: 'Form of what is shown.',
  },
} as const satisfies OptionTable;
