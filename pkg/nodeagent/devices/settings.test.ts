import t from 'tap';
import { containerSettings } from '#nodeagent/devices/settings.js';

t.test('the responses of plugins become settings of the container', async (t) => {
  const conflicts: string[] = [];
  const { environment, ...rest } = containerSettings(
    [
      {
        envs: { A: '1', B: '2' },
        annotations: { 'example.com/a': 'x' },
        devices: [{ containerPath: '/dev/a', hostPath: '/dev/null', permissions: 'rw' }],
        mounts: [{ containerPath: '/lib/a', hostPath: '/opt/a', readOnly: true }],
      },
      {
        envs: { A: '1', B: '3' },
        annotations: { 'example.com/a': 'y' },
        devices: [
          { containerPath: '/dev/a', hostPath: '/dev/null', permissions: 'r' },
          { containerPath: '/dev/b', hostPath: '/dev/zero', permissions: '' },
        ],
        mounts: [
          { containerPath: '/lib/a', hostPath: '/opt/b' },
          { containerPath: '/lib/b', hostPath: '/opt/b' },
        ],
      },
      {},
    ],
    (kind, name) => conflicts.push(`${kind} ${name}`),
  );
  t.same(
    [...(environment ?? [])],
    [
      ['A', '1'],
      ['B', '2'],
    ],
    'environment',
  );
  const propagation = 'PROPAGATION_PRIVATE';
  t.same(
    rest,
    {
      annotations: { 'example.com/a': 'x' },
      devices: [
        { containerPath: '/dev/a', hostPath: '/dev/null', permissions: 'rw' },
        { containerPath: '/dev/b', hostPath: '/dev/zero', permissions: '' },
      ],
      mounts: [
        { containerPath: '/lib/a', hostPath: '/opt/a', readonly: true, propagation },
        { containerPath: '/lib/b', hostPath: '/opt/b', readonly: false, propagation },
      ],
    },
    'the first one counts',
  );
  t.same(conflicts, ['environment variable B', 'annotation example.com/a', 'mount /lib/a'], 'differences are reported');
});
