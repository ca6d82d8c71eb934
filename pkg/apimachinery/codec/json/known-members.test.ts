import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { decodeJSON, type FieldValidation } from '#apimachinery/codec/json/json.js';
import { KnownMembers } from '#apimachinery/codec/json/known-members.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const scheme = schemeFor(kubernetesDialect);
const pod = scheme.type('core.v1.Pod');
const validations: readonly FieldValidation[] = ['Strict', 'Warn', 'Ignore'];

/** What comes out, to the order of members, or what it fails with. */
function outcome(decode: () => { readonly object: object; readonly warnings: readonly string[] } | undefined): string {
  try {
    const decoded = decode();
    return decoded === undefined ? 'unknown' : JSON.stringify([decoded.object, decoded.warnings]);
  } catch (error) {
    return messageOf(error);
  }
}

const plain = (body: Buffer, type: TypeInfo, validation: FieldValidation): string =>
  outcome(() => decodeJSON(body, type, validation));

/** Often enough for any spec to become known. */
const lessons = 4;

function learned(body: Buffer, type: TypeInfo): KnownMembers {
  const known = new KnownMembers();
  for (let i = 0; i < lessons; i++) known.decode(body, type, 'Warn');
  return known;
}

const long = Array.from({ length: 40 }, (_, i) => ({ name: `c-${i}`, image: `registry.example.com/team/image:${i}` }));
const spec = { nodeName: '', hostNetwork: false, containers: long };
const text = (rest: string, own: object = spec): string =>
  `{"metadata":{"name":"a"},"spec":${JSON.stringify(own)}${rest}}`;

t.test('known or not, every kind of object comes out the same', async (t) => {
  const objects = new RandomObjects(seededRandom(seed));
  let hits = 0;
  for (const name of scheme.typeNames()) {
    const type = scheme.type(name);
    if (!type.byName.has('spec')) continue;
    for (let i = 0; i < 10; i++) {
      const body = Buffer.from(JSON.stringify(objects.object(type)));
      const known = learned(body, type);
      for (const validation of validations) {
        const found = outcome(() => known.decode(body, type, validation));
        if (found === 'unknown') continue;
        hits++;
        if (found !== plain(body, type, validation))
          t.equal(found, plain(body, type, validation), `${name} SEED=${seed}`);
      }
    }
  }
  t.ok(hits > 30, `${hits} were known`);
});

t.test('what stands around a known spec is read as ever', async (t) => {
  const known = learned(Buffer.from(text('')), pod);
  const own = JSON.stringify(spec);
  const rows: readonly (readonly [string, string])[] = [
    ['as it came', text('')],
    [
      'another name',
      `{"metadata":{"name":"b","labels":{"a":"{\\"spec\\":{}}"}},"spec":${own},"status":{"phase":"Failed"}}`,
    ],
    ['unknown members', text(',"foo":{"spec":{"a":1}},"status":{"bar":1}')],
    ['repeated members', text(',"status":{"phase":"A","phase":"B"}')],
    ['two specs, of which the last is another', text(',"spec":{"nodeName":"x"}')],
    ['two specs, of which the last is known', `{"spec":{"nodeName":"x"},"spec":${own}}`],
    ['both known', text(`,"spec":${own}`)],
    ['in another place', `{"metadata":{"spec":${own}},"spec":{"?":0}}`],
    ['in another place, and the mark escaped', `{"metadata":{"spec":${own}},"spec":{"\\u003f":0}}`],
    ['in a list', `{"metadata":{"finalizers":[{"spec":${own}}]}}`],
    ['a wrong type beside it', text(',"status":{"phase":1}')],
    ['no object around it', `["spec",{"spec":${own}}]`],
    ['something behind it', text('x')],
    ['no end', text('').slice(0, -1)],
    ['no comma before it', `{"metadata":{}"spec":${own}}`],
    ['the beginning of a text', `{"metadata":{"name":"\\"spec":${own}}}`],
    ['half a character', `{"metadata":{"name":"\\ud800"},"spec":${own}}`],
    ['bytes that are no text', `{"metadata":{"name":"\u00ff"},"spec":${own}}`],
  ];
  for (const [name, body] of rows) {
    const bytes = Buffer.from(body, 'latin1');
    for (const validation of validations) {
      const found = outcome(() => known.decode(bytes, pod, validation));
      if (found !== 'unknown') t.equal(found, plain(bytes, pod, validation), `${name}, ${validation}`);
    }
  }
  t.not(known.decode(Buffer.from(text('')), pod, 'Warn'), undefined);
  t.not(known.decode(Buffer.from(rows[1]?.[1] ?? ''), pod, 'Strict'), undefined, 'text that looks like one');
});

t.test('what there is to warn of is not known', async (t) => {
  for (const own of [{ ...spec, foo: 1 }, { containers: long.map((container) => ({ ...container, image: 1 })) }]) {
    const body = Buffer.from(text('', own));
    t.equal(learned(body, pod).decode(body, pod, 'Warn'), undefined);
  }
  const twice = Buffer.from(text('').replace('"nodeName":""', '"nodeName":"a","nodeName":"b"'));
  t.equal(learned(twice, pod).decode(twice, pod, 'Warn'), undefined);
});

t.test('nobody can change what is known', async (t) => {
  const body = Buffer.from(text(''));
  const members = learned(body, pod);
  const read = structuredClone(decodeJSON(body, pod).object['spec']);
  for (let time = 0; time < 3; time++) {
    const decoded = members.decode(body, pod, 'Warn');
    if (decoded === undefined) throw new Error('it is not known');
    t.same(decoded.object['spec'], read);
    t.same(decoded.known?.value, read);
    const { containers } = decoded.object['spec'] as { containers: { image: string }[] };
    for (const container of containers) container.image = 'changed';
  }
});

t.test('specs of one beginning are told apart, and the latest are known', async (t) => {
  const known = new KnownMembers();
  const body = (n: number) => Buffer.from(text('', { ...spec, hostname: `host-${n}` }));
  for (let round = 0; round < lessons; round++) {
    for (let n = 0; n < 100; n++) {
      const found = outcome(() => known.decode(body(n), pod, 'Warn'));
      if (found !== 'unknown') t.equal(found, plain(body(n), pod, 'Warn'));
    }
  }
});

t.test('no more is kept than a megabyte', async (t) => {
  const known = new KnownMembers();
  const body = (n: number) => Buffer.from(text('', { hostname: `host-${n}`, containers: [...long, ...long, ...long] }));
  for (let n = 0; n < 300; n++) for (let round = 0; round < lessons; round++) known.decode(body(n), pod, 'Warn');
  t.equal(known.decode(body(0), pod, 'Warn'), undefined, 'the first ones are forgotten');
  t.not(known.decode(body(299), pod, 'Warn'), undefined, 'the last ones are known');
});

const fields = (n: number): Record<string, unknown> => ({
  'f:metadata': {
    'f:labels': { '.': {}, ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f:l-${i}`, {}])) },
  },
  'f:spec': { 'f:containers': { [`k:{"name":"c-${n}"}`]: { '.': {}, 'f:image': {}, 'f:name': {} } } },
});
const entry = (n: number, more = '') =>
  `{"manager":"m-${n}","operation":"Update","fieldsType":"FieldsV1","fieldsV1":${JSON.stringify(fields(n))}${more}}`;
const managed = (entries: string, rest = '') =>
  `{"metadata":{"name":"a","managedFields":[${entries}]}${rest},"status":{"phase":"Running"}}`;

t.test('field sets that came before are shared, and what stands around them is read as ever', async (t) => {
  const own = JSON.stringify(spec);
  const known = learned(Buffer.from(managed(`${entry(0)},${entry(1)}`, `,"spec":${own}`)), pod);
  const set = JSON.stringify(fields(0));
  const rows: readonly (readonly [string, string])[] = [
    ['as they came', managed(`${entry(0)},${entry(1)}`, `,"spec":${own}`)],
    ['another spec', managed(`${entry(0)},${entry(1)}`, ',"spec":{"nodeName":"x"}')],
    ['in another order', managed(`${entry(1)},${entry(0)},${entry(1)}`)],
    ['beside an unknown one', managed(`${entry(0)},${entry(2)}`)],
    ['behind the spec', `{"spec":${own},"metadata":{"name":"a","managedFields":[${entry(0)}]}}`],
    ['repeated', managed(entry(0, `,"fieldsV1":${set}`))],
    ['followed by another', managed(entry(0, ',"fieldsV1":{"f:a":{}}'))],
    ['after another', managed(`{"fieldsV1":{"f:a":{},"f:a":{}},"fieldsV1":${set}}`)],
    ['repeated as a whole', managed(entry(0)).replace('"name":"a"', `"name":"a","managedFields":[${entry(1)}]`)],
    ['in another place', `{"metadata":{"name":"a","annotations":{"fieldsV1":${set}}},"spec":${own}}`],
    ['as a status', `{"metadata":{"name":"a"},"status":{"fieldsV1":${set}},"spec":${own}}`],
    ['in an unknown member', managed(entry(0), `,"foo":{"fieldsV1":${set}}`)],
    ['the beginning of a text', `{"metadata":{"name":"\\"fieldsV1":${set}}}`],
    ['no comma before it', managed(entry(0).replace(',"fieldsV1"', '"fieldsV1"'))],
    ['no list', `{"metadata":{"name":"a","managedFields":${entry(0)}},"spec":${own}}`],
    ['with a mark', managed(`${entry(0)},{"fieldsV1":{"?":0}}`, `,"spec":${own}`)],
  ];
  for (const [name, body] of rows) {
    for (const validation of validations) {
      const bytes = Buffer.from(body);
      const found = outcome(() => known.decode(bytes, pod, validation));
      if (found !== 'unknown') t.equal(found, plain(bytes, pod, validation), `${name}, ${validation}`);
    }
  }
  const setsOf = (n: number) => {
    const decoded = known.decode(Buffer.from(rows[n]?.[1] ?? ''), pod, 'Strict');
    const { managedFields } = (decoded?.object['metadata'] ?? {}) as { managedFields: { fieldsV1: object }[] };
    return managedFields.map(({ fieldsV1 }) => fieldsV1);
  };
  const [first, second] = setsOf(0);
  t.ok(Object.isFrozen(first), 'which their type says, too');
  t.equal(setsOf(1)[0], first, 'also with another spec');
  t.same(
    setsOf(2).map((one) => one === first || one === second),
    [true, true, true],
    'in any order',
  );
});

t.test('field sets with members that repeat, or that are too deep, are not known', async (t) => {
  for (const set of [
    JSON.stringify(fields(0)).replace('"f:l-1"', '"f:l-2"'),
    `${'{"f:a":'.repeat(90)}{}${'}'.repeat(90)}`,
  ]) {
    const body = Buffer.from(managed(`{"fieldsV1":${set}}`));
    t.equal(learned(body, pod).decode(body, pod, 'Warn'), undefined);
  }
});
