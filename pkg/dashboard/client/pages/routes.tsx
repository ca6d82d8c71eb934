import { KindPage } from '#dashboard/client/pages/kind-page.js';
import { KindsPage } from '#dashboard/client/pages/kinds-page.js';
import { ObjectPage } from '#dashboard/client/pages/object-page.js';
import { OverviewPage } from '#dashboard/client/pages/overview-page.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { lazy } from '#dashboard/client/parts/lazy.js';
import { Quiet } from '#dashboard/client/parts/notice.js';
import { groupOf, namespaceOf } from '#dashboard/model/places.js';

const NodesPage = lazy(async () => (await import('#dashboard/client/pages/nodes-page.js')).NodesPage);
const TopologyPage = lazy(async () => (await import('#dashboard/client/pages/topology-page.js')).TopologyPage);
const AccessPage = lazy(async () => (await import('#dashboard/client/pages/access-page.js')).AccessPage);

/** The page of the address. */
export function Routes() {
  const { place, catalog } = useApp();
  const [page] = place.segments;
  switch (page) {
    case undefined:
      return <OverviewPage />;
    case 'nodes':
      return <NodesPage />;
    case 'topology':
      return <TopologyPage />;
    case 'access':
      return <AccessPage />;
    case 'kinds':
    case 'objects':
      if (catalog.kinds.length === 0) return <Quiet>Loading…</Quiet>;
      return <Kinds />;
    default:
      return <Missing what="This page" />;
  }
}

/** A kind, all kinds, or an object. */
function Kinds() {
  const { place, catalog } = useApp();
  const [page, ...rest] = place.segments;
  const [group = '', resource = '', namespace = '', name = '', tab = ''] = rest;
  switch (page) {
    case 'kinds': {
      if (group === '') return <KindsPage />;
      const kind = catalog.find(groupOf(group), resource);
      return kind === undefined ? (
        <Missing what={`The kind ${resource}`} />
      ) : (
        <KindPage key={`${group}/${resource}`} kind={kind} />
      );
    }
    case 'objects': {
      const kind = catalog.find(groupOf(group), resource);
      if (kind === undefined) return <Missing what={`The kind ${resource}`} />;
      const inside = namespaceOf(namespace);
      return (
        <ObjectPage key={`${group}/${resource}/${namespace}/${name}`} {...{ kind, name, tab }} namespace={inside} />
      );
    }
    default:
      return <Missing what="This page" />;
  }
}

function Missing({ what }: { readonly what: string }) {
  return (
    <div class="page">
      <h1>Not there</h1>
      <p>{what} is not served by this cluster.</p>
    </div>
  );
}
