/** `apply --prune`: deletes objects that an earlier apply created and that were not applied now. */
import type { ApiObject } from '#client/client.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import type { ResourceCatalog, ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import type { Manifest } from '#cmd/orchctl/commands/manifests.js';
import { scopeOf } from '#cmd/orchctl/commands/selection.js';
import { type DryRun, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** The types that 1.24 prunes: group key or group, and resource. */
const common: readonly (readonly [group: string, kind: string])[] = [
  ...(
    ['ConfigMap', 'Endpoints', 'PersistentVolumeClaim', 'Pod', 'ReplicationController', 'Secret', 'Service'] as const
  ).map((kind) => ['', kind] as const),
  ...(['CronJob', 'Job'] as const).map((kind) => ['batch', kind] as const),
  ['networking', 'Ingress'],
  ...(['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'] as const).map((kind) => ['apps', kind] as const),
  ...(['Namespace', 'PersistentVolume'] as const).map((kind) => ['', kind] as const),
];

export async function prune(
  invocation: Invocation,
  applied: readonly { readonly object: ApiObject; readonly manifest: Manifest }[],
  dryRun: DryRun,
): Promise<void> {
  const { api, values } = invocation;
  const catalog = await api.catalog();
  const lastApplied = catalog.dialect.annotations.lastApplied;
  const kept = new Set(applied.map(({ object }) => object.metadata.uid));
  const namespaces = new Set(
    applied.flatMap(({ manifest }) => (manifest.namespace === undefined ? [] : [manifest.namespace])),
  );
  if (values.isSet('namespace')) namespaces.add(invocation.namespace);
  const print = await resultPrinter(invocation, dryRun);
  for (const resource of typesToPrune(catalog, values.strings('prune-whitelist'))) {
    for (const namespace of resource.namespaced ? namespaces : [undefined]) {
      const objects = await api.list(resource, scopeOf(namespace), { labelSelector: values.string('selector') });
      for (const object of objects) {
        const { annotations, name = '', uid } = object.metadata;
        if (annotations?.[lastApplied] === undefined || kept.has(uid)) continue;
        if (dryRun === 'none') {
          const policy = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' }[
            values.string('cascade') ?? ''
          ];
          await api.json('DELETE', objectPath(resource, name, scopeOf(namespace)), {
            kind: 'DeleteOptions',
            apiVersion: 'v1',
            propagationPolicy: policy ?? 'Background',
            preconditions: { uid },
          });
        }
        print(object, 'pruned');
      }
    }
  }
}

function typesToPrune(catalog: ResourceCatalog, given: readonly string[]): ServedResource[] {
  if (given.length > 0) {
    return given.map((text) => {
      const [group = '', version = '', kind = '', more] = text.split('/');
      if (kind === '' || more !== undefined) {
        throw new CommandError(`invalid GroupVersionKind format: ${text}, please follow <group/version/kind>`);
      }
      return catalog.byKind(group === 'core' ? version : `${group}/${version}`, kind);
    });
  }
  return common.flatMap(([key, kind]) => {
    const group = key === 'networking' ? catalog.dialect.groupName('networking') : key;
    const resource = catalog.preferred.find((each) => each.group === group && each.kind === kind);
    return resource === undefined ? [] : [resource];
  });
}
