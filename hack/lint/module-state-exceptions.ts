/** State of modules that may be, by file and name, with the reason. */
export const exceptions: Readonly<Record<string, string>> = {
  'pkg/apimachinery/quantity.ts parsed': 'A bounded memo of a pure function, on the way of every pod.',
  'pkg/apimachinery/selectors/fields.ts everyField': 'Immutable.',
  'pkg/apimachinery/selectors/labels.ts everything': 'Immutable.',
  'pkg/apimachinery/selectors/labels.ts nothing': 'Immutable.',
};
