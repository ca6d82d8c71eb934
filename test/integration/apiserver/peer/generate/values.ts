/** Values to which a single field is changed. */
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import { bigNumber } from '#test/integration/apiserver/peer/generate/big-numbers.js';
import {
  plausibleElement,
  plausibleField,
  plausibleKey,
  type Unions,
} from '#test/integration/apiserver/peer/generate/plausible.js';

/** By name of the mutation; undefined removes the field. */
export type Values = Readonly<Record<string, unknown>>;

const bad = 'Bad_Value!';
const long = 'a'.repeat(300);

/** Mutations of a whole field with the given value; undefined if it has none. */
export function fieldValues(field: FieldInfo, present: unknown, unions: Unions): Values {
  const absent = present === undefined ? {} : { absent: undefined };
  const value = present ?? plausibleField(field, unions);
  const plausible = present === undefined ? { plausible: value } : {};
  const common = { ...absent, null: null, ...plausible };
  if (field.container === 'list') return { ...common, ...listValues(field, value as unknown[], unions) };
  if (field.container === 'map') return { ...common, ...mapValues(field, value as Record<string, unknown>) };
  return { ...common, ...elementValues(field, value) };
}

function listValues(field: FieldInfo, list: unknown[], unions: Unions): Values {
  const [first = plausibleElement(field, unions)] = list;
  return {
    empty: [],
    'wrong type': { a: 'x' },
    'null element': [null],
    duplicate: [...(list.length === 0 ? [first] : list), first],
    ...(list.length > 1 ? { reordered: list.toReversed() } : {}),
    many: Array.from({ length: 70 }, () => first),
    ...prefixed('element', elementValues(field, first), (value) => [value, ...list.slice(1)]),
  };
}

function mapValues(field: FieldInfo, map: Record<string, unknown>): Values {
  const [key = plausibleKey(field)] = Object.keys(map);
  const first = map[key];
  return {
    empty: {},
    'wrong type': ['x'],
    'empty key': { ...map, '': first },
    'bad key': { ...map, 'Bad Key!': first },
    'long key': { ...map, [long]: first },
    'two-part key': { ...map, 'Example.com/a/b': first },
    'null element': { ...map, [key]: null },
    ...prefixed('element', elementValues(field, first), (value) => ({ ...map, [key]: value })),
  };
}

function prefixed(prefix: string, values: Values, place: (value: unknown) => unknown): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix} ${name}`, place(value)]));
}

/** Mutations of one value. Members of messages are mutated elsewhere. */
function elementValues(field: FieldInfo, value: unknown): Values {
  const { type, enumValues } = field;
  if (enumValues !== undefined) {
    const each = Object.fromEntries(enumValues.map((text) => [`of ${text}`, text]));
    return { ...each, empty: '', unheard: 'Unheard', 'other case': lowered(enumValues), 'wrong type': 5 };
  }
  if (type === undefined) return scalarValues(field, value);
  return shaped[type.shape];
}

function lowered([first = '']: readonly string[]): string {
  return first === first.toLowerCase() ? first.toUpperCase() : first.toLowerCase();
}

function scalarValues({ scalar }: FieldInfo, value: unknown): Values {
  switch (scalar) {
    case 'string':
      return {
        empty: '',
        bad,
        long,
        dotted: 'a.example.com',
        blank: ' a',
        unicode: 'é',
        slashed: '../a/b',
        'wrong type': 5,
      };
    case 'bytes':
      return { empty: '', bad, unpadded: 'YQ', 'wrong type': 5 };
    case 'bool':
      return { flipped: value !== true, kept: value === true, 'wrong type': 'true' };
    case 'int32':
      return { ...integers, 'too large': 2 ** 31, 'largest port and one': 65_536 };
    default:
      return { ...integers, 'too large': bigNumber('9223372036854775808'), exact: bigNumber('9007199254740993') };
  }
}

const integers: Values = {
  zero: 0,
  one: 1,
  negative: -1,
  large: 2 ** 31 - 1,
  fraction: 1.5,
  'fraction of zero': bigNumber('1.0'),
  hundred: 101,
  'wrong type': '1',
};
const times: Values = {
  bad,
  empty: '',
  zone: '2024-05-01T10:00:00+02:00',
  fraction: '2024-05-01T10:00:00.123456Z',
  day: '2024-05-01',
  'wrong type': 0,
};
const schemas: Values = { empty: {}, false: false, list: [{ type: 'string' }], 'wrong type': 5 };

const shaped: Readonly<Record<TypeInfo['shape'], Values>> = {
  struct: { empty: {}, 'wrong type': 'x', list: [] },
  time: times,
  microTime: times,
  duration: { zero: '0s', negative: '-1s', bad, empty: '', 'wrong type': 5 },
  quantity: {
    zero: '0',
    negative: '-1',
    bad,
    empty: '',
    number: 5,
    fraction: '1.5',
    milli: '100m',
    large: '1e100',
    binary: '1025Ki',
    plain: '1500',
    'wrong type': true,
  },
  intOrString: {
    zero: 0,
    negative: -1,
    large: 70_000,
    percent: '50%',
    most: '150%',
    empty: '',
    bad,
    name: 'http',
    'wrong type': true,
  },
  rawJSON: { number: 5, text: 'x', list: [1], exact: { a: bigNumber('9007199254740993') } },
  bareList: { empty: [], 'wrong type': 'x' },
  schemaOrArray: schemas,
  schemaOrBool: { ...schemas, true: true },
  schemaOrStringArray: { ...schemas, texts: ['a', 'b'] },
};
