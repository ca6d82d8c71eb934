import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { decodeMessage } from '#apimachinery/codec/protobuf/decode.js';
import { encodeMessage } from '#apimachinery/codec/protobuf/encode.js';
import { SharedMessages } from '#apimachinery/codec/protobuf/shared-messages.js';
import { orchDialect } from '#apimachinery/dialect.js';

const pod = schemeFor(orchDialect).kind('v1', 'Pod')?.type;
if (pod === undefined) throw new Error('no pods');

interface Pod {
  readonly metadata: object;
  readonly spec: { readonly nodeName?: string; readonly containers: readonly object[] };
  readonly status?: object;
}

t.test('what comes a second time is kept', (t) => {
  const messages = new SharedMessages();
  const read = (nodeName: string) => {
    const object = { metadata: { name: nodeName }, spec: { nodeName, containers: [{ name: 'c', image: 'i' }] } };
    return decodeMessage(pod, encodeMessage(pod, object), { messages }) as Pod;
  };
  const [first, second, third, fourth] = ['a', 'b', 'c', 'd'].map(read);
  t.not(first?.spec.containers[0], third?.spec.containers[0]);
  t.equal(second?.spec.containers[0], third?.spec.containers[0]);
  t.equal(third?.spec.containers[0], fourth?.spec.containers[0]);
  t.notOk(Object.isFrozen(first?.spec.containers[0]));
  t.ok(Object.isFrozen(fourth?.spec.containers[0]));
  t.notOk(Object.isFrozen(fourth?.spec), 'which is of one object');
  for (let n = 0; n < 3; n++) t.notOk(Object.isFrozen(read('a').metadata));
  t.ok(Object.isFrozen(read('a').spec));
  t.end();
});

t.test('a message in two parts', (t) => {
  const messages = new SharedMessages();
  const part = (spec: object) => encodeMessage(pod, { spec });
  const containers = [{ name: 'c' }];
  const bytes = Buffer.concat([
    part({ nodeName: 'n', containers }),
    part({ nodeName: 'n', hostname: 'h', containers }),
  ]);
  for (let n = 0; n < 4; n++) {
    const { spec } = decodeMessage(pod, bytes, { messages }) as Pod;
    t.match(spec, { nodeName: 'n', hostname: 'h' });
    t.equal(spec.containers.length, 2);
  }
  t.end();
});
