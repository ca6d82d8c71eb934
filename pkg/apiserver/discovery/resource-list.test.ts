import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { groupsOf, type RemoteVersion } from '#apiserver/discovery/resource-list.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';

const remote = (group: string, version: string, groupPriority: number, versionPriority: number): RemoteVersion => ({
  group,
  version,
  groupPriority,
  versionPriority,
});

const all = schemeFor(dialect).resources.map(({ groupName, declaration }) => ({ group: groupName, declaration }));
const table = { all: () => all } as unknown as ResourceTable;

t.test('versions of other servers are merged into this server’s', (t) => {
  const groups = groupsOf(table, [
    remote('a.example.com', 'v1', 100, 1),
    remote('a.example.com', 'v1beta1', 17_450, 2),
    remote('b.example.com', 'v1alpha1', 100, 10),
    remote('b.example.com', 'v1', 100, 10),
    remote('b.example.com', 'v2', 100, 10),
    remote('batch', 'v3', 100, 10),
  ]);
  const names = groups.map(({ name }) => name);
  t.same(names.slice(names.indexOf('autoscaling'), names.indexOf('certificates.k8s.io') + 1), [
    'autoscaling',
    'a.example.com',
    'batch',
    'certificates.k8s.io',
  ]);
  t.same(names.slice(-2), ['b.example.com', 'metrics.k8s.io'], 'equal priorities are sorted by name');
  const versionsOf = (name: string) => groups.find((group) => group.name === name)?.versions;
  t.same(versionsOf('a.example.com'), ['v1beta1', 'v1']);
  t.same(versionsOf('b.example.com'), ['v2', 'v1', 'v1alpha1']);
  t.same(versionsOf('batch'), ['v1', 'v3', 'v1beta1']);
  t.same(versionsOf('autoscaling'), ['v2', 'v1', 'v2beta1', 'v2beta2']);
  t.same(versionsOf('flowcontrol.apiserver.k8s.io'), ['v1beta2', 'v1beta1']);
  t.end();
});
