import { KindPage } from '#dashboard/client/pages/kind-page.js';
import { KindsPage } from '#dashboard/client/pages/kinds-page.js';
import { ObjectPage } from '#dashboard/client/pages/object-page.js';
import { OverviewPage } from '#dashboard/client/pages/overview-page.js';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { groupOf, namespaceOf } from '#dashboard/model/places.js';

/** The page of the address. */
export function Routes() {
  const { place, catalog } = useApp();
  const [page, ...rest] = place.segments;
  const [group = '', resource = '', namespace = '', name = '', tab = ''] = rest;
  switch (page) {
    case undefined:
      return <OverviewPage />;
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
