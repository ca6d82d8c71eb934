import t from 'tap';
import { parseTargets, ResourceCatalog, type ServedResource } from '#cmd/orchctl/api/resources.js';

function served(
  group: string,
  resource: string,
  kind: string,
  shortNames: string[],
  categories: string[] = [],
): ServedResource {
  const common = { group, version: 'v1', resource, kind, singular: kind.toLowerCase(), namespaced: true };
  return { ...common, verbs: ['get'], shortNames, categories };
}

const catalog = new ResourceCatalog([
  served('', 'pods', 'Pod', ['po'], ['all']),
  served('', 'events', 'Event', ['ev']),
  served('events.example', 'events', 'Event', ['ev']),
  served('apps', 'deployments', 'Deployment', ['deploy'], ['all']),
  served('batch', 'cronjobs', 'CronJob', ['cj'], ['all']),
  { ...served('batch', 'cronjobs', 'CronJob', ['cj'], ['all']), version: 'v1beta1' },
]);

for (const [name, group, resource] of [
  ['po', '', 'pods'],
  ['pod', '', 'pods'],
  ['PODS', '', 'pods'],
  ['deploy', 'apps', 'deployments'],
  ['deployment.apps', 'apps', 'deployments'],
  ['ev', '', 'events'],
  ['events.events', 'events.example', 'events'],
] as const) {
  const match = catalog.one(name);
  t.same([match.group, match.resource], [group, resource], name);
}

for (const [name, version] of [
  ['cj', 'v1'],
  ['cronjobs.batch', 'v1'],
  ['cronjobs.v1beta1.batch', 'v1beta1'],
  ['cronjob.v1.batch', 'v1'],
] as const) {
  t.equal(catalog.one(name).version, version, name);
}
t.throws(() => catalog.one('cronjobs.v2.batch'), { name: 'CommandError' });
t.same(
  catalog.preferred.filter(({ group }) => group === 'batch').map(({ version }) => version),
  ['v1'],
  'once, in the version that the server prefers',
);
t.throws(() => catalog.one('cows'), { name: 'CommandError', message: /doesn't have a resource type "cows"/ });
t.same(
  catalog.find('all').map((r) => r.resource),
  ['pods', 'deployments', 'cronjobs'],
  'a category selects all its resources',
);

t.test('arguments select resources and objects', async (t) => {
  const names = (...args: string[]) => parseTargets(catalog, args).map((x) => [x.resource.resource, ...x.names]);
  t.same(names('pods'), [['pods']]);
  t.same(names('pods', 'a', 'b'), [['pods', 'a', 'b']]);
  t.same(names('pod/a', 'deploy/b'), [
    ['pods', 'a'],
    ['deployments', 'b'],
  ]);
  t.same(names('pods,deploy'), [['pods'], ['deployments']]);
  for (const wrong of [[], ['pod/a', 'b'], ['pod/'], ['pod/a/b']]) {
    t.throws(() => parseTargets(catalog, wrong), { name: 'CommandError' }, wrong.join(' '));
  }
});
