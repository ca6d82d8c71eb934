import t from 'tap';
import { withClient } from '#cluster/supervise/scheduler-config.js';

const head = (domain: string, kind: string) => `apiVersion: ${domain}/v1beta3\nkind: ${kind}SchedulerConfiguration\n`;
const own = head('scheduler.config.orch.io', 'Orch');
const kube = head('kubescheduler.config.k8s.io', 'Kube');

t.test('the client config is added in the dialect of the file, and module paths become absolute', (t) => {
  const rows: [text: string, want: object][] = [
    [own, { kind: 'OrchSchedulerConfiguration', clientConnection: { orchconfig: '/client' } }],
    [kube, { kind: 'KubeSchedulerConfiguration', clientConnection: { kubeconfig: '/client' } }],
    [`${own}clientConnection: {qps: 7}`, { clientConnection: { orchconfig: '/client', qps: 7 } }],
    [`${own}clientConnection: {orchconfig: /own}`, { clientConnection: { orchconfig: '/own' } }],
    [
      `${own}pluginModules: [{path: a.mjs}, {path: /b.mjs}, {other: 1}]`,
      { pluginModules: [{ path: '/dir/a.mjs' }, { path: '/b.mjs' }, { other: 1 }] },
    ],
    [`${own}profiles: [{schedulerName: a}]`, { profiles: [{ schedulerName: 'a' }] }],
  ];
  for (const [text, want] of rows) t.match(JSON.parse(withClient(text, '/dir/file.yaml', '/client')), want, text);
  t.throws(() => withClient('[]', '/dir/file.yaml', '/client'), /must be an object/);
  t.end();
});
