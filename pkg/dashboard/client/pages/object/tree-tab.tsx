import { useMemo } from 'preact/hooks';
import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { Quiet } from '#dashboard/client/parts/notice.js';
import { StatusText } from '#dashboard/client/parts/status.js';
import { useLive } from '#dashboard/client/parts/use-live.js';
import { type Catalog, collectionPath, type Kind } from '#dashboard/model/catalog.js';
import { objectLink } from '#dashboard/model/places.js';

/** Kinds that own others, or are owned, in any cluster. */
const usual: readonly (readonly [string, string])[] = [
  ['', 'pods'],
  ['', 'services'],
  ['apps', 'deployments'],
  ['apps', 'replicasets'],
  ['apps', 'statefulsets'],
  ['apps', 'daemonsets'],
  ['apps', 'controllerrevisions'],
  ['batch', 'jobs'],
  ['batch', 'cronjobs'],
  ['discovery', 'endpointslices'],
  ['', 'persistentvolumeclaims'],
];
/** Kinds of definitions that are looked at, too. */
const maxCustom = 12;

/** The tree of owners around the object. */
export function TreeTab({ kind, object }: TabProps) {
  const { catalog } = useApp();
  const { namespace, uid = '' } = object.metadata;
  const kinds = useMemo(
    () =>
      kindsAround(catalog, kind).map((each) => ({
        ...{ group: each.group, resource: each.resource, kind: each.kind },
        path: collectionPath(each, namespace),
      })),
    [catalog, kind, namespace],
  );
  const state = useLive<'owners'>({ type: 'owners', uid, kinds });
  const nodes = state?.nodes ?? [];
  return (
    <section class="card" aria-label="Owners">
      <h2>Owners and what they own</h2>
      {state === undefined || (state.isLoading && nodes.length === 0) ? <Quiet>Loading…</Quiet> : null}
      <ul class="tree" aria-label="Tree">
        {nodes.map((node) => (
          <li key={node.uid} data-depth={Math.min(node.depth, 8)} aria-current={node.uid === uid ? 'true' : undefined}>
            <span class="kind">{node.kind}</span> <a href={objectLink(node, node.namespace, node.name)}>{node.name}</a>{' '}
            <StatusText text={node.status} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function kindsAround(catalog: Catalog, kind: Kind): Kind[] {
  const common = usual.flatMap(([group, resource]) => catalog.wellKnown(group, resource) ?? []);
  const custom = catalog.kinds.filter(
    ({ group, namespaced, verbs }) =>
      namespaced && verbs.includes('watch') && group.split('.').length > 2 && !/\.(?:k8s|orch)\.io$/.test(group),
  );
  return [...new Set([kind, ...common, ...custom.slice(0, maxCustom)])].filter(
    ({ namespaced }) => namespaced || !kind.namespaced,
  );
}
