/** State of modules that may be, by file and name, with the reason. */
export const exceptions: Readonly<Record<string, string>> = {
  'pkg/apimachinery/quantity.ts parsed': 'A bounded memo of a pure function, on the way of every pod.',
  'pkg/apimachinery/apply/edges.ts fieldEdges': 'Bounded memos of pure functions, on the way of every write.',
  'pkg/apimachinery/selectors/fields.ts everyField': 'Immutable.',
  'pkg/apimachinery/selectors/labels.ts everything': 'Immutable.',
  'pkg/apimachinery/selectors/labels.ts nothing': 'Immutable.',
  'pkg/api/batch/v1/job/strategy.ts inherited': 'Marks of objects by identity, while their request lasts.',
};
