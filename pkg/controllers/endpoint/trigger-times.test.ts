import t from 'tap';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import { TriggerTimes } from '#controllers/endpoint/trigger-times.js';

const service: Service = { metadata: { name: 's', creationTimestamp: '2022-05-03T10:00:00Z' }, spec: {} };
const pod = (name: string, lastTransitionTime?: string): Pod => ({
  metadata: { name },
  spec: { containers: [] },
  status:
    lastTransitionTime === undefined ? {} : { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] },
});

t.test('the earliest change since the last update counts', async (t) => {
  const times = new TriggerTimes();
  const [a, b, c] = ['2022-05-03T09:00:00Z', '2022-05-03T11:00:00Z', '2022-05-03T12:00:00Z'];
  t.equal(
    times.update('n/s', service, [pod('a', a)]),
    '2022-05-03T10:00:00Z',
    'a pod that was ready before the service',
  );
  t.equal(times.update('n/s', service, [pod('a', a)]), undefined, 'nothing');
  t.equal(times.update('n/s', service, [pod('a', c), pod('b', b)]), b);
  t.equal(times.update('n/s', service, [pod('a', c)]), undefined, 'a deleted pod has no time');
  t.equal(times.update('n/s', service, [pod('a', c), pod('b', b), pod('d')]), b, 'a recreated pod has a time');
  times.forget('n/s');
  t.equal(times.update('n/s', service, []), '2022-05-03T10:00:00Z');
});
