import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { dropEmpties, withoutEmpties } from '#apimachinery/codec/json/empty-members.js';
import { decodeValue } from '#apimachinery/codec/json/json.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const scheme = schemeFor(kubernetesDialect);

t.test('empty values stay until they are dropped', async (t) => {
  const type = scheme.type('core.v1.Pod');
  const pod = () => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec: { containers: [], overhead: {}, volumes: [] },
  });
  const { object } = decodeValue(pod(), type);
  const decoded = object as { spec: { containers: unknown[]; overhead?: object } };
  t.strictSame(decoded.spec, { containers: [], overhead: {} }, 'of those that say something meanwhile');
  const { spec } = decoded;
  Object.freeze(spec);
  t.strictSame(withoutEmpties(type, decoded).spec, { containers: [] });
  dropEmpties(type, decoded);
  t.strictSame(decoded.spec, { containers: [] });
  t.strictSame(spec.overhead, {}, 'the shared one stays');
  t.equal(withoutEmpties(type, decoded), decoded, 'nothing is copied without need');
});

t.test('empty bytes and empty values in lists are dropped', async (t) => {
  const type = scheme.type('admissionregistration.v1.MutatingWebhookConfiguration');
  const webhooks = [{ clientConfig: { url: 'a' } }, { clientConfig: { url: 'b', caBundle: '' } }];
  const object = { metadata: {}, webhooks };
  dropEmpties(type, object);
  t.strictSame(object.webhooks, [{ clientConfig: { url: 'a' } }, { clientConfig: { url: 'b' } }]);
});
