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

t.test('everybody has a spec of his own', async (t) => {
  const body = Buffer.from(text(''));
  const known = learned(body, pod);
  const first = known.decode(body, pod, 'Warn');
  if (first === undefined) throw new Error('it is not known');
  const { containers } = first.object['spec'] as { containers: { image: string }[] };
  for (const container of containers) container.image = 'changed';
  t.equal(
    outcome(() => known.decode(body, pod, 'Warn')),
    plain(body, pod, 'Warn'),
  );
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
