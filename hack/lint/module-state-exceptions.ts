/** State of modules that may be, by file and name, with the reason. */
export const exceptions: Readonly<Record<string, string>> = {
  'pkg/apimachinery/quantity.ts parsed': 'A bounded memo of a pure function, on the way of every pod.',
  'pkg/apimachinery/apply/edges.ts fieldEdges': 'Bounded memos of pure functions, on the way of every write.',
  'pkg/api/apiextensions/v1/customresourcedefinition/pattern.ts world':
    'The engine has one; it keeps nothing between uses.',
  'pkg/api/apiextensions/v1/customresourcedefinition/pattern.ts leftMs': 'Time of a turn of the one event loop.',
  'pkg/api/apiextensions/v1/customresourcedefinition/pattern.ts isSpent': 'Time of a turn of the one event loop.',
  'pkg/storage/cache/turns.ts line': 'Time of a turn of the one event loop.',
  'pkg/apimachinery/selectors/fields.ts everyField': 'Immutable.',
  'pkg/apimachinery/selectors/labels.ts everything': 'Immutable.',
  'pkg/apimachinery/selectors/labels.ts nothing': 'Immutable.',
  'pkg/api/batch/v1/job/strategy.ts inherited': 'Marks of objects by identity, while their request lasts.',
};
