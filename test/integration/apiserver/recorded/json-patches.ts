/** JSON patches: the test cases of 1.24's library (github.com/evanphx/json-patch), and more. */
import { type Case, defined, definition, type Step } from '#test/integration/apiserver/recorded/step.js';

const group = 'patched.example.com';
const object = `/apis/${group}/v1/namespaces/default/documents/one`;

/** The object that all patches change; nothing is stored. */
const doc = {
  baz: 'qux',
  nothing: null,
  'a/b': { 'c~d': 1, '~1': 2 },
  '': 'empty name',
  o: { p: { q: 1 }, r: null },
  empty: {},
  none: [],
  l: ['a', 'b', 'c'],
  nested: [{ x: [1, 2, null] }, 'y'],
  number: 5,
  yes: true,
};

type Operation = Readonly<Record<string, unknown>> | null | string | number | readonly unknown[];

const value = 'new';
const at = (path: string) => `/doc${path}`;

const single: readonly Operation[] = [
  // add
  { op: 'add', path: at('/new'), value },
  { op: 'add', path: at('/new'), value: null },
  { op: 'add', path: at('/new') },
  { op: 'add', path: at('/baz'), value: { g: {} } },
  { op: 'add', path: at('/o/p/s'), value: [1, [2]] },
  { op: 'add', path: at('/new/deep'), value },
  { op: 'add', path: at('/nothing/x'), value },
  { op: 'add', path: at('/baz/x'), value },
  { op: 'add', path: at('/'), value },
  { op: 'add', path: at('//'), value },
  { op: 'add', path: '', value: {} },
  { op: 'add', path: 'doc', value },
  { op: 'add', path: 'doc/new', value },
  { op: 'add', path: 'ignored/doc/new', value },
  { op: 'add', pathz: at('/new'), value },
  { op: 'add', path: null, value },
  { op: 'add', path: 5, value },
  ...['0', '1', '3', '4', '-', '-1', '-2', '-4', '-5', '+1', '01', '-0', '1x', '', '1.0', '99999999999999999999'].map(
    (index) => ({ op: 'add', path: at(`/l/${index}`), value }),
  ),
  { op: 'add', path: at('/none/-1'), value },
  { op: 'add', path: at('/none/0'), value },
  { op: 'add', path: at('/nested/0/x/-'), value },
  { op: 'add', path: at('/nested/-2/x/0'), value },
  { op: 'add', path: at('/nested/1/x'), value },
  { op: 'add', path: at('/nested/-/x'), value },
  { op: 'add', path: at('/nested/2/x'), value },
  // remove
  { op: 'remove', path: at('/baz') },
  { op: 'remove', path: at('/nothing') },
  { op: 'remove', path: at('/new') },
  { op: 'remove', path: at('/o/p/s') },
  { op: 'remove', path: at('/new/deep') },
  { op: 'remove', path: '' },
  { op: 'remove' },
  ...['0', '2', '3', '-', '-1', '-3', '-4'].map((index) => ({ op: 'remove', path: at(`/l/${index}`) })),
  { op: 'remove', path: at('/none/-1') },
  // replace
  { op: 'replace', path: at('/baz'), value },
  { op: 'replace', path: at('/baz'), value: null },
  { op: 'replace', path: at('/baz') },
  { op: 'replace', path: at('/nothing'), value },
  { op: 'replace', path: at('/new'), value },
  { op: 'replace', path: at('/new/deep'), value },
  { op: 'replace', path: at('/a~1b/c~0d'), value },
  { op: 'replace', path: at('/a~1b/~01'), value },
  { op: 'replace', path: 'doc/baz', value },
  ...['0', '2', '3', '-', '-1', '-3', '-4'].map((index) => ({ op: 'replace', path: at(`/l/${index}`), value })),
  { op: 'replace', path: at('/nested/0/x/2'), value: 3 },
  { op: 'replace', path: '', value: 'text' },
  { op: 'replace', path: '', value: null },
  { op: 'replace', path: '', value: 7 },
  // move
  { op: 'move', from: at('/o/p'), path: at('/empty/t') },
  { op: 'move', from: at('/l/1'), path: at('/l/3') },
  { op: 'move', from: at('/l/1'), path: at('/l/2') },
  { op: 'move', from: at('/l/1'), path: at('/l/-') },
  { op: 'move', from: at('/l/-1'), path: at('/l/0') },
  { op: 'move', from: at('/l/3'), path: at('/l/0') },
  { op: 'move', from: at('/l/-'), path: at('/l/0') },
  { op: 'move', from: at('/o'), path: at('/o/p') },
  { op: 'move', from: at('/o'), path: at('/o') },
  { op: 'move', from: at('/new'), path: at('/empty/t') },
  { op: 'move', from: at('/nothing'), path: at('/something') },
  { op: 'move', from: '', path: at('/x') },
  { op: 'move', path: at('/x') },
  { op: 'move', from: at('/baz') },
  // copy
  { op: 'copy', from: at('/o'), path: at('/o/p') },
  { op: 'copy', from: at('/l'), path: at('/l/0') },
  { op: 'copy', from: at('/l/0'), path: at('/l/3') },
  { op: 'copy', from: at('/l/0'), path: at('/l/4') },
  { op: 'copy', from: at('/l/-1'), path: at('/l/-') },
  { op: 'copy', from: at('/l/9'), path: at('/x') },
  { op: 'copy', from: at('/new'), path: at('/copied') },
  { op: 'copy', from: at('/nothing'), path: at('/copied') },
  { op: 'copy', from: at('/new/deep'), path: at('/copied') },
  { op: 'copy', from: at('/baz'), path: at('/new/deep') },
  { op: 'copy', from: null, path: at('/x') },
  { op: 'copy', from: '/', path: at('/l/6666666666') },
  // test
  { op: 'test', path: at('/baz'), value: 'qux' },
  { op: 'test', path: at('/baz'), value: 'other' },
  { op: 'test', path: at('/baz'), value: null },
  { op: 'test', path: at('/baz') },
  { op: 'test', path: at('/none') },
  { op: 'test', path: at('/number'), value: 5 },
  { op: 'test', path: at('/number'), value: '5' },
  { op: 'test', path: at('/yes'), value: true },
  { op: 'test', path: at('/yes'), value: false },
  { op: 'test', path: at('/new'), value: null },
  { op: 'test', path: at('/new'), value: 1 },
  { op: 'test', path: at('/nothing'), value: null },
  { op: 'test', path: at('/nothing'), value: 0 },
  { op: 'test', path: at('/empty'), value: null },
  { op: 'test', path: at('/empty'), value: {} },
  { op: 'test', path: at('/empty'), value: [] },
  { op: 'test', path: at('/none'), value: null },
  { op: 'test', path: at('/none'), value: [] },
  { op: 'test', path: at('/o'), value: { r: null, p: { q: 1 } } },
  { op: 'test', path: at('/o'), value: { p: { q: 1 } } },
  { op: 'test', path: at('/l'), value: ['a', 'b', 'c'] },
  { op: 'test', path: at('/l'), value: ['a', 'c', 'b'] },
  { op: 'test', path: at('/l/1'), value: 'b' },
  { op: 'test', path: at('/l/-1'), value: 'c' },
  { op: 'test', path: at('/l/3'), value: 'c' },
  { op: 'test', path: at('/l/-'), value: 'c' },
  { op: 'test', path: at('/a~1b/c~0d'), value: 1 },
  { op: 'test', path: at('/'), value: 'empty name' },
  { op: 'test', path: at('/new/deep'), value: null },
  { op: 'test', path: '', value: { doc } },
  { op: 'test', path: '', value: null },
  // invalid operations
  { op: null, path: '' },
  { op: 5, path: at('/baz') },
  { op: 'spam', path: at('/baz') },
  { op: 'Add', path: at('/x'), value },
  { path: at('/baz') },
  {},
  null,
  'spam',
  5,
  [],
];

const several: readonly (readonly Operation[])[] = [
  [],
  [
    { op: 'add', path: at('/new'), value: {} },
    { op: 'add', path: at('/new/deep'), value },
    { op: 'test', path: at('/new'), value: { deep: value } },
    { op: 'copy', from: at('/new'), path: at('/again') },
    { op: 'remove', path: at('/new/deep') },
  ],
  [
    { op: 'add', path: at('/first'), value },
    { op: 'test', path: at('/baz'), value: 'other' },
  ],
  [
    { op: 'remove', path: at('/l/0') },
    { op: 'remove', path: at('/l/0') },
    { op: 'add', path: at('/l/-'), value },
    { op: 'move', from: at('/l'), path: at('/o/l') },
  ],
  [
    { op: 'test', path: at('/baz'), value: 'other' },
    { op: 'spam', path: at('/baz') },
  ],
];

function patched(body: unknown): Step {
  const path = `${object}?dryRun=All`;
  return { method: 'PATCH', path, contentType: 'application/json-patch+json', body };
}

const open = { 'x-kubernetes-preserve-unknown-fields': true };
const schema = { type: 'object', properties: { doc: { type: 'object', ...open } } };

export const jsonPatches: Case = {
  name: 'json-patches',
  steps: [
    ...defined(group, 'documents', definition(group, 'documents', 'Document', [{ schema }])),
    {
      method: 'POST',
      path: object.slice(0, object.lastIndexOf('/')),
      body: { apiVersion: `${group}/v1`, kind: 'Document', metadata: { name: 'one' }, doc },
    },
    ...single.map((operation) => patched([operation])),
    ...several.map(patched),
    ...['null', '{}', '"add"', '5', 'true'].map(patched),
    patched(Array.from({ length: 10_001 }, () => null)),
    patched(
      Array.from({ length: 5 }, () => [
        { op: 'copy', from: at('/l'), path: at('/o/l') },
        { op: 'copy', from: at('/o'), path: at('/l/0') },
      ]).flat(),
    ),
  ],
};
