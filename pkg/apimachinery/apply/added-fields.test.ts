import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { addedFields as addedSteps, compare } from '#apimachinery/apply/compare.js';
import { isEmptySet, recursiveDifference, setOfFields, setsEqual, sorted } from '#apimachinery/apply/field-set.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { withoutDuplicates } from '#apimachinery/testing/random-change.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
t.comment(`SEED=${seed}`);
const hidden = setOfFields(['metadata.labels', 'metadata.name', 'status', 'kind']);
const scheme = schemeFor(kubernetesDialect);
const addedFields = (...call: Parameters<typeof addedSteps>) => allSteps(addedSteps(...call));
const compared = (...call: Parameters<typeof compare>) => allSteps(compare(...call));

t.test('the fields of a new object are those of a comparison with an empty object', async (t) => {
  const objects = new RandomObjects(seededRandom(seed));
  for (const name of scheme.typeNames()) {
    const type = scheme.type(name);
    if (type.shape !== 'struct') continue;
    for (let i = 0; i < 4; i++) {
      const object = i === 0 ? {} : withoutDuplicates(type, objects.object(type));
      const { touched: expected, removed, isSame } = compared(type, {}, object);
      const actual = addedFields(type, object);
      // Also in the same order.
      const inSteps = addedFields(type, object, undefined, 3);
      if (JSON.stringify(inSteps) !== JSON.stringify(actual))
        t.strictSame(inSteps, actual, `steps of ${name}, SEED=${seed}`);
      if (!setsEqual(actual, expected)) t.strictSame(actual, expected, `${name}, SEED=${seed}`);
      if (sorted(actual) !== actual) t.fail(`${name} is in order, SEED=${seed}`);
      const rest = recursiveDifference(actual, hidden);
      const seen = addedFields(type, object, hidden);
      if (!setsEqual(seen, rest)) t.strictSame(seen, rest, `what is seen of ${name}, SEED=${seed}`);
      if (isSame !== isEmptySet(actual) || !isEmptySet(removed)) t.fail(`${name} is the same, SEED=${seed}`);
    }
  }
});

t.test('a large object takes many steps', async (t) => {
  const type = scheme.kind('v1', 'ConfigMap')?.type;
  if (type === undefined) throw new Error('no config maps');
  const object = { data: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, 'v'])) };
  const steps = [...addedSteps(type, object)];
  t.ok(steps.length > 5, `${steps.length} steps`);
});

t.test('a new message without members owns its null members, as in 1.24', async (t) => {
  const pod = scheme.type('core.v1.Pod');
  const volumeClaimTemplate = { metadata: {}, spec: { resources: {} } };
  const volume = { name: 'v', ephemeral: { volumeClaimTemplate } };
  const metadata = { '.': {}, 'f:creationTimestamp': {} };
  const claim = { '.': {}, 'f:metadata': metadata, 'f:spec': { '.': {}, 'f:resources': {} } };
  const one = { '.': {}, 'f:ephemeral': { '.': {}, 'f:volumeClaimTemplate': claim }, 'f:name': {} };
  const volumes = { '.': {}, 'k:{"name":"v"}': one };
  const before = { spec: { volumes: [] } };
  const after = { spec: { volumes: [volume] } };
  t.strictSame(addedFields(pod, after), { 'f:spec': { 'f:volumes': volumes } });
  const { '.': _, ...added } = volumes;
  t.match(compared(pod, before, after).touched, { 'f:spec': { 'f:volumes': added } });
  t.match(compared(pod, after, before).removed, { 'f:spec': { 'f:volumes': added } });
});

t.test('lists that are never left out are null in a new message', (t) => {
  const node = scheme.type('storage.v1.CSINode');
  const driver = { name: 'd', nodeID: 'n' };
  const fields = (...drivers: object[]) => addedFields(node, { metadata: {}, spec: { drivers } });
  const added = { '.': {}, 'f:name': {}, 'f:nodeID': {}, 'f:topologyKeys': {} };
  t.strictSame(fields(driver), { 'f:spec': { 'f:drivers': { 'k:{"name":"d"}': added } } });
  t.strictSame(fields({ ...driver, topologyKeys: ['a'] }), fields(driver));
  t.strictSame(fields(), { 'f:spec': { 'f:drivers': {} } }, 'an empty one is something else');
  t.strictSame(addedFields(node, { metadata: {}, spec: {} }), {});
  t.end();
});

t.test('an empty atomic message has no manager', (t) => {
  const policy = scheme.type('networking.v1.NetworkPolicy');
  t.strictSame(addedFields(policy, { spec: { podSelector: {} } }), {});
  t.strictSame(addedFields(policy, { spec: { podSelector: { matchLabels: {} } } }), {
    'f:spec': { 'f:podSelector': {} },
  });
  t.end();
});
