import t from 'tap';
import type { ApiObject } from '#client/client.js';
import { descriptionOf } from '#cmd/orchctl/print/description.js';

const now = Date.parse('2022-05-03T00:00:10Z');

t.test('describes any object', async (t) => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      namespace: 'default',
      labels: { a: '1', b: '2' },
      creationTimestamp: '2022-05-03T00:00:00Z',
    },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i:1', args: ['x', 'y'] }], tolerations: [] },
    status: { podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'False', reason: 'Because', message: 'why' }] },
  } as ApiObject;
  t.equal(
    descriptionOf(pod, now),
    `Name:           web
Namespace:      default
Labels:         a=1
                b=2
Annotations:    <none>
Created:        2022-05-03T00:00:00Z (10s ago)
Node Name:      n1
Containers:
  c:
    Image:      i:1
    Args:       x, y
Tolerations:    <none>
Pod IP:         10.0.0.1
Conditions:
  Type    Status   Reason    Message
  Ready   False    Because   why
`,
  );
});

t.test('hides the values of secrets', async (t) => {
  const data = { password: Buffer.from('hunter2').toString('base64') };
  const text = descriptionOf({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data } as ApiObject, now);
  t.match(text, /password: +7 bytes/);
  t.notMatch(text, data.password);
});
