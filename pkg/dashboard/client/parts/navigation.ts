/** The pages of the navigation, in its order. */
import type { Catalog } from '#dashboard/model/catalog.js';
import { kindLink, placeLink } from '#dashboard/model/places.js';
import { pluralOf } from '#dashboard/model/words.js';

export interface NavigationLink {
  readonly text: string;
  readonly link: string;
  /** Typed after `g`. */
  readonly key?: string;
}

export interface NavigationGroup {
  readonly title: string;
  readonly links: readonly NavigationLink[];
}

/** Group, resource and key. */
type Entry = readonly [group: string, resource: string, key?: string];

const sections: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  {
    title: 'Workloads',
    entries: [
      ['', 'pods', 'p'],
      ['apps', 'deployments', 'd'],
      ['apps', 'statefulsets', 's'],
      ['apps', 'daemonsets'],
      ['batch', 'jobs', 'j'],
      ['batch', 'cronjobs'],
      ['autoscaling', 'horizontalpodautoscalers'],
    ],
  },
  {
    title: 'Network',
    entries: [
      ['', 'services', 'v'],
      ['networking', 'ingresses', 'i'],
      ['networking', 'networkpolicies'],
    ],
  },
  {
    title: 'Configuration and storage',
    entries: [
      ['', 'configmaps', 'c'],
      ['', 'secrets'],
      ['', 'persistentvolumeclaims'],
      ['', 'persistentvolumes'],
    ],
  },
];

export function groupsOf(catalog: Catalog, namespace: string | undefined): NavigationGroup[] {
  const kindGroups = sections.map(({ title, entries }) => ({
    title,
    links: entries.flatMap(([group, resource, key]) => {
      const kind = catalog.wellKnown(group, resource);
      if (kind === undefined) return [];
      const link = kindLink(kind, { namespace });
      return [{ text: pluralOf(kind), link, ...(key === undefined ? {} : { key }) }];
    }),
  }));
  const page = (text: string, segments: readonly string[], key: string) => ({
    text,
    link: placeLink(segments, { namespace }),
    key,
  });
  const ofCluster = (resource: string, key?: string) => {
    const kind = catalog.find('', resource);
    if (kind === undefined) return [];
    return [{ text: pluralOf(kind), link: kindLink(kind, { namespace }), ...(key === undefined ? {} : { key }) }];
  };
  return [
    {
      title: 'Cluster',
      links: [
        page('Overview', [], 'o'),
        page('Map of nodes', ['nodes'], 'm'),
        page('Topology', ['topology'], 't'),
        page('Access', ['access'], 'a'),
        ...ofCluster('nodes', 'n'),
        ...ofCluster('namespaces'),
        ...ofCluster('events', 'e'),
        page('All kinds', ['kinds'], 'k'),
      ],
    },
    ...kindGroups,
  ];
}
