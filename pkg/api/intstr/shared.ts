import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    IntOrString: {
      '~type': { number: 1, type: 'int64', protoName: 'type' },
      '~intVal': { number: 2, type: 'int32', protoName: 'intVal' },
      '~strVal': { number: 3, type: 'string', protoName: 'strVal' },
    },
  },
  docs: {
    IntOrString: "A whole number or a string, such as a port's number or name, or a count or a percentage.",
  },
};
