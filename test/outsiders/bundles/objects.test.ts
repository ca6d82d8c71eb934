import t from 'tap';
import { differences, nameOf } from '#test/outsiders/bundles/objects.js';

t.test('values chosen by servers are ignored', async (t) => {
  const service = (uid: string, clusterIP: string, nodePort: number, time: string) => ({
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', uid, resourceVersion: uid, managedFields: [{ manager: 'm', time }] },
    spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, nodePort }] },
  });
  const one = service('1', '10.0.0.1', 30000, '2029-12-31T23:59:00Z');
  const other = service('2', '10.0.0.2', 30001, '2029-12-31T23:59:01Z');
  t.equal(nameOf(one), 'Service shop/web');
  t.same(differences(one, other, 9), []);
  const changed = { ...other, spec: { ...other.spec, clusterIP: 'None', clusterIPs: ['None'], ports: [] } };
  t.same(differences(one, changed, 9), [
    '.spec.ports: [{"port":80}], there []',
    '.spec.clusterIP: absent, there "None"',
    '.spec.clusterIPs: absent, there ["None"]',
  ]);
  t.equal(differences(one, changed, 1).length, 1);
});

t.test('UIDs and observation times are ignored, other times are compared', async (t) => {
  const job = (id: string) => {
    const labels = { 'controller-uid': id };
    return { kind: 'Job', metadata: { labels }, spec: { selector: { matchLabels: labels } } };
  };
  const uids = ['b4943efd-1db8-4728-9ecf-21daf393ee63', '75a92488-b904-48bc-afec-d4a4bfa3c094'] as const;
  t.same(differences(job(uids[0]), job(uids[1]), 9), []);
  const times = (field: string, time: string) => ({ kind: 'A', [field]: { at: time } });
  const [early, late] = ['2020-01-01T00:00:00Z', '2030-01-01T00:00:00Z'];
  t.same(differences(times('status', early), times('status', late), 9), []);
  t.same(differences(times('spec', early), times('spec', late), 9), [`.spec.at: "${early}", there "${late}"`]);
});

t.test('the order of managers’ entries is ignored', async (t) => {
  const entries = ['kube-apiserver', 'kubectl'].map((manager) => ({ manager, operation: 'Update' }));
  const object = (managedFields: readonly object[]) => ({ kind: 'A', metadata: { managedFields } });
  t.same(differences(object(entries), object([...entries].reverse()), 9), []);
});

t.test('the order of conditions is ignored', async (t) => {
  const object = (conditions: readonly object[]) => ({ kind: 'A', status: { conditions } });
  const [one, other] = [{ type: 'Ready', status: 'True' }, { type: 'Named' }];
  t.same(differences(object([one, other]), object([other, one]), 9), []);
  t.same(differences(object([one]), object([{ ...one, status: 'False' }]), 9), [
    '.status.conditions[0].status: "True", there "False"',
  ]);
});

t.test('generations of definitions are ignored', async (t) => {
  const object = (kind: string, generation: number) => ({ kind, metadata: { generation } });
  const kind = 'CustomResourceDefinition';
  t.same(differences(object(kind, 1), object(kind, 2), 9), []);
  t.same(differences(object('Job', 1), object('Job', 2), 9), ['.metadata.generation: 1, there 2']);
});
