import type { ComponentType } from 'preact';
import { EventsTab } from '#dashboard/client/pages/object/events-tab.js';
import { SummaryTab } from '#dashboard/client/pages/object/summary-tab.js';
import type { TabProps } from '#dashboard/client/pages/object/tab.js';
import { TreeTab } from '#dashboard/client/pages/object/tree-tab.js';
import { lazy } from '#dashboard/client/parts/lazy.js';
import { LiveMark, Quiet, TroubleNotice } from '#dashboard/client/parts/notice.js';
import { useNow } from '#dashboard/client/parts/use-now.js';
import { useObject } from '#dashboard/client/parts/use-object.js';
import { ageText } from '#dashboard/model/age.js';
import type { Kind } from '#dashboard/model/catalog.js';
import { kindLink, objectLink } from '#dashboard/model/places.js';
import { pluralOf } from '#dashboard/model/words.js';

interface Tab {
  readonly id: string;
  readonly title: string;
  readonly Part: ComponentType<TabProps>;
  /** Absent: for all kinds. */
  readonly isFor?: (kind: Kind) => boolean;
}

const podOwners: readonly string[] = ['Pod', 'Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'Service'];

function isPodKind({ group, resource }: Kind): boolean {
  return group === '' && resource === 'pods';
}

const tabs: readonly Tab[] = [
  { id: 'summary', title: 'Summary', Part: SummaryTab },
  {
    id: 'logs',
    title: 'Logs',
    Part: lazy(async () => (await import('#dashboard/client/pages/object/logs-tab.js')).LogsTab),
    isFor: ({ kind }) => podOwners.includes(kind),
  },
  {
    id: 'shell',
    title: 'Shell',
    Part: lazy(async () => (await import('#dashboard/client/pages/object/shell-tab.js')).ShellTab),
    isFor: isPodKind,
  },
  {
    id: 'ports',
    title: 'Ports',
    Part: lazy(async () => (await import('#dashboard/client/pages/object/ports-tab.js')).PortsTab),
    isFor: isPodKind,
  },
  {
    id: 'use',
    title: 'Use',
    Part: lazy(async () => (await import('#dashboard/client/pages/object/metrics-tab.js')).MetricsTab),
    isFor: (kind) => isPodKind(kind) || (kind.group === '' && kind.resource === 'nodes'),
  },
  { id: 'tree', title: 'Owners', Part: TreeTab },
  { id: 'events', title: 'Events', Part: EventsTab },
  {
    id: 'yaml',
    title: 'YAML',
    Part: lazy(async () => (await import('#dashboard/client/pages/object/yaml-tab.js')).YamlTab),
  },
];

interface ObjectPageProps {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly tab: string;
}

export function ObjectPage({ kind, namespace, name, tab }: ObjectPageProps) {
  const { object, liveness, trouble } = useObject(kind, namespace, name);
  const now = useNow();
  const shown = tabs.filter(({ isFor }) => isFor?.(kind) !== false);
  const current = shown.find(({ id }) => id === tab) ?? shown[0];
  const { creationTimestamp, deletionTimestamp } = object?.metadata ?? {};
  return (
    <div class="page">
      <header class="page-head">
        <nav class="crumbs" aria-label="Place">
          <a href={kindLink(kind, { namespace })}>{pluralOf(kind)}</a>
          {namespace === '' ? null : <span>{namespace}</span>}
        </nav>
        <h1>
          <span class="kind">{kind.kind}</span> {name}
        </h1>
        <p class="count">
          {creationTimestamp === undefined ? '' : `${ageText(now - Date.parse(creationTimestamp))} old `}
          {deletionTimestamp === undefined ? null : <span class="status busy">Terminating</span>}{' '}
          <LiveMark liveness={liveness} />
        </p>
      </header>
      <nav class="tabs" aria-label="Views of the object">
        {shown.map(({ id, title }) => (
          <a
            key={id}
            href={objectLink(kind, namespace, name, id === 'summary' ? undefined : id)}
            aria-current={id === current?.id ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <TroubleNotice trouble={trouble} />
      {object === undefined && trouble === undefined ? <Quiet>Loading…</Quiet> : null}
      {object === undefined || current === undefined ? null : (
        <current.Part key={`${current.id} ${object.metadata.uid ?? ''}`} kind={kind} object={object} />
      )}
    </div>
  );
}
