import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { allSteps } from '#apimachinery/async/steps.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(dialect);
const codec = new ObjectCodec(scheme);
const expected = scheme.kind('v1', 'ConfigMap');
if (expected === undefined) throw new Error('no config maps');

const map = (size: number, value: string) =>
  Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, `${value}${i}`]));

const object = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'a', labels: map(3000, 'l'), annotations: map(3000, 'a') },
  data: map(9000, 'd'),
};

t.test('large maps are decoded in steps', async (t) => {
  const bytes = codec.encode(object, expected, 'protobuf');
  const steps = codec.decodeSteps(bytes, { encoding: 'protobuf', expected });
  let pauses = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses++;
  t.strictSame(step.value.object, codec.decode(bytes, { encoding: 'protobuf', expected }).object);
  t.equal(pauses, 1);
});

t.test('errors in deferred entries are reported like others', async (t) => {
  const bytes = codec.encode(object, expected, 'protobuf');
  // The length of the last entry's value.
  const at = bytes.lastIndexOf('d8999') - 1;
  for (const length of [4, 6, 255]) {
    const broken = Buffer.from(bytes);
    broken[at] = length;
    const outcomeOf = (read: () => unknown) => {
      try {
        return read();
      } catch (error) {
        return String(error);
      }
    };
    const error = outcomeOf(() => codec.decode(broken, { encoding: 'protobuf', expected }));
    t.match(error, /proto|EOF/, String(error));
    t.equal(
      outcomeOf(() => allSteps(codec.decodeSteps(broken, { encoding: 'protobuf', expected }))),
      error,
    );
  }
});
