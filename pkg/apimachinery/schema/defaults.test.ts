import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { fillDefaults } from '#apimachinery/schema/defaults.js';
import { defineTypes, message, optional, pointer } from '#apimachinery/schema/language.js';
import { Scheme } from '#apimachinery/schema/scheme.js';

const { types } = defineTypes({
  types: {
    Turn: message('A turn.', {
      name: optional(2, 'string', { default: 'a' }, 'Its name.'),
      count: pointer(3, 'int32', { default: 3 }, 'How often. Default: three times.'),
      sorts: optional(4, 'string[]', { default: ['x'] }, 'Its sorts.'),
      part: pointer(5, 'Part', { default: {} }, 'Its part.'),
      others: optional(6, 'Part[]', 'More of them.'),
      named: optional(7, 'map<string, Part>', 'More of them.'),
      gated: pointer(8, 'bool', { default: true, featureGate: 'Gate' }, 'Behind a gate.'),
    }),
    Part: message('A part.', {
      color: optional(1, 'string', { default: 'red' }, 'Its color.'),
      inner: pointer(2, 'Part', 'A part of the part.'),
    }),
  },
});
const scheme = new Scheme(orchDialect, [{ group: 'core', version: 'v1', kinds: [{ types }] }]);
const turn = scheme.type('core.v1.Turn');

function filled(object: object, gate = true): object {
  const copy = structuredClone(object);
  fillDefaults(turn, copy, () => gate);
  return copy;
}

t.test('absent fields of an object and its present parts get defaults', async (t) => {
  const red = { color: 'red' };
  t.strictSame(filled({}), { name: 'a', count: 3, sorts: ['x'], part: red, gated: true });
  t.strictSame(filled({ part: { inner: { inner: {} } } }), {
    ...filled({}),
    part: { ...red, inner: { ...red, inner: red } },
  });
  t.strictSame(filled({ others: [{}, { color: 'blue' }], named: { a: {} } }), {
    ...filled({}),
    others: [red, { color: 'blue' }],
    named: { a: red },
  });
});

t.test('an empty field counts as absent unless it is a pointer', async (t) => {
  t.strictSame(filled({ name: '', count: 0, sorts: [] }), { ...filled({}), count: 0 });
  t.strictSame(filled(filled({})), filled({}), 'set values stay');
});

t.test('a field whose gate is off stays absent', async (t) => {
  const { gated: _, ...rest } = filled({}) as { gated?: boolean };
  t.strictSame(filled({}, false), rest);
});

t.test('objects do not share a default value', async (t) => {
  const [one, other] = [filled({}), filled({})] as { sorts: string[] }[];
  one?.sorts.push('y');
  t.strictSame(other?.sorts, ['x']);
});

t.test('descriptions include defaults unless the doc mentions them', async (t) => {
  const docs = ['name', 'count', 'sorts', 'gated'].map((name) => turn.byName.get(name)?.doc);
  t.strictSame(docs, [
    'Its name. Default `a`.',
    'How often. Default: three times.',
    'Its sorts.',
    'Behind a gate. Default true.',
  ]);
});
