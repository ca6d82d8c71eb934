/** Ingresses, services and workloads of a namespace, what leads to what, and which policies stand between. Pure. */
import type { ApiObject } from '#dashboard/model/api-object.js';
import type { PodObject } from '#dashboard/model/pods.js';
import { type Requirements, selectorText, selects } from '#dashboard/model/selectors.js';

export interface TopologyNode {
  readonly id: string;
  readonly kind: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  /** `3 of 3 ready`, `no pods`. */
  readonly note: string;
  readonly isBad: boolean;
  /** Sentences of policies. */
  readonly policies: readonly string[];
}

export interface Topology {
  readonly ingresses: readonly TopologyNode[];
  readonly services: readonly TopologyNode[];
  readonly workloads: readonly TopologyNode[];
  /** From one node's id to another's. */
  readonly edges: readonly (readonly [string, string])[];
}

interface IngressObject extends ApiObject {
  readonly spec?: {
    readonly defaultBackend?: Backend;
    readonly rules?: readonly {
      readonly host?: string;
      readonly http?: { readonly paths: readonly { readonly backend: Backend }[] };
    }[];
  };
}

interface Backend {
  readonly service?: { readonly name: string };
}

interface ServiceObject extends ApiObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly { readonly port: number; readonly name?: string }[];
  };
}

interface Peer {
  readonly podSelector?: Requirements;
  readonly namespaceSelector?: Requirements;
  readonly ipBlock?: { readonly cidr: string };
}

interface PolicyObject extends ApiObject {
  readonly spec?: {
    readonly podSelector?: Requirements;
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly { readonly from?: readonly Peer[] }[];
    readonly egress?: readonly { readonly to?: readonly Peer[] }[];
  };
}

export interface TopologyObjects {
  readonly ingresses: readonly ApiObject[];
  readonly services: readonly ApiObject[];
  readonly pods: readonly ApiObject[];
  readonly policies: readonly ApiObject[];
  /** The group of ingresses in the server's dialect. */
  readonly networkingGroup: string;
}

interface Workload {
  readonly node: Omit<TopologyNode, 'note' | 'isBad' | 'policies'>;
  readonly pods: PodObject[];
}

export function topologyOf({ ingresses, services, pods, policies, networkingGroup }: TopologyObjects): Topology {
  const workloads = workloadsOf(pods as readonly PodObject[]);
  const edges: (readonly [string, string])[] = [];
  const serviceNodes = (services as readonly ServiceObject[]).map((service): TopologyNode => {
    const { name = '' } = service.metadata;
    const id = `service/${name}`;
    const { selector = {}, ports = [], type = 'ClusterIP' } = service.spec ?? {};
    const hasSelector = Object.keys(selector).length > 0;
    const behind = hasSelector
      ? workloads.filter(({ pods: own }) =>
          own.some(({ metadata }) => selects({ matchLabels: selector }, metadata.labels)),
        )
      : [];
    for (const { node } of behind) edges.push([id, node.id]);
    const isBad = hasSelector && behind.length === 0;
    const note = isBad
      ? `selects no pods (${selectorText({ matchLabels: selector })})`
      : `${type} ${ports.map(({ port }) => port).join(', ')}`;
    return { id, kind: 'Service', group: '', resource: 'services', name, note, isBad, policies: [] };
  });
  const names = new Set(serviceNodes.map(({ name }) => name));
  const ingressNodes = (ingresses as readonly IngressObject[]).map((ingress): TopologyNode => {
    const { name = '' } = ingress.metadata;
    const id = `ingress/${name}`;
    const { defaultBackend, rules = [] } = ingress.spec ?? {};
    const backends = [
      defaultBackend,
      ...rules.flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend)),
    ];
    const targets = new Set(backends.flatMap((backend) => backend?.service?.name ?? []));
    for (const target of targets) if (names.has(target)) edges.push([id, `service/${target}`]);
    const lost = [...targets].filter((target) => !names.has(target));
    const hosts = rules.map(({ host = '*' }) => host).join(', ');
    const note = lost.length > 0 ? `service ${lost.join(', ')} does not exist` : hosts;
    return {
      id,
      kind: 'Ingress',
      group: networkingGroup,
      resource: 'ingresses',
      name,
      note,
      isBad: lost.length > 0,
      policies: [],
    };
  });
  const workloadNodes = workloads.map(({ node, pods: own }): TopologyNode => {
    const ready = own.filter(isReady).length;
    return {
      ...node,
      note: `${ready} of ${own.length} ready`,
      isBad: ready < own.length,
      policies: (policies as readonly PolicyObject[]).flatMap((policy) => policyText(policy, own)),
    };
  });
  return { ingresses: ingressNodes, services: serviceNodes, workloads: workloadNodes, edges };
}

/** Pods by their controller; a ReplicaSet of a Deployment counts as the Deployment. */
function workloadsOf(pods: readonly PodObject[]): Workload[] {
  const workloads = new Map<string, Workload>();
  for (const pod of pods) {
    if (pod.status?.phase === 'Succeeded') continue;
    const { name = '', labels, ownerReferences } = pod.metadata;
    const owner = ownerReferences?.find(({ controller }) => controller === true);
    const hash = labels?.['pod-template-hash'];
    const isDeployed = owner?.kind === 'ReplicaSet' && hash !== undefined && owner.name.endsWith(`-${hash}`);
    const kind = isDeployed ? 'Deployment' : (owner?.kind ?? 'Pod');
    const title = isDeployed ? owner.name.slice(0, -hash.length - 1) : (owner?.name ?? name);
    const id = `${kind.toLowerCase()}/${title}`;
    const group = owner?.apiVersion.includes('/') === true ? (owner.apiVersion.split('/')[0] ?? '') : '';
    const workload = workloads.get(id) ?? {
      node: { id, kind, group, resource: `${kind.toLowerCase()}s`, name: title },
      pods: [],
    };
    workload.pods.push(pod);
    workloads.set(id, workload);
  }
  return [...workloads.values()].sort((a, b) => (a.node.name < b.node.name ? -1 : 1));
}

function isReady({ status }: PodObject): boolean {
  const statuses = status?.containerStatuses ?? [];
  return statuses.length > 0 && statuses.every(({ ready }) => ready === true);
}

function policyText({ metadata, spec = {} }: PolicyObject, pods: readonly PodObject[]): string[] {
  const { podSelector = {}, policyTypes = ['Ingress'], ingress = [], egress = [] } = spec;
  if (!pods.some(({ metadata: { labels } }) => selects(podSelector, labels))) return [];
  const name = metadata.name ?? '';
  const sentences: string[] = [];
  if (policyTypes.includes('Ingress'))
    sentences.push(`${name}: only from ${peersText(ingress.map(({ from }) => from))}`);
  if (policyTypes.includes('Egress')) sentences.push(`${name}: only to ${peersText(egress.map(({ to }) => to))}`);
  return sentences;
}

/** A rule without peers is for all of them; no rule is for none. */
function peersText(rules: readonly (readonly Peer[] | undefined)[]): string {
  if (rules.length === 0) return 'none';
  if (rules.some((peers) => peers === undefined || peers.length === 0)) return 'all';
  const texts = rules.flatMap((peers) => (peers ?? []).map(peerText));
  return [...new Set(texts)].join(', ');
}

function peerText({ podSelector, namespaceSelector, ipBlock }: Peer): string {
  if (ipBlock !== undefined) return ipBlock.cidr;
  const pods = podSelector === undefined ? '' : `pods ${selectorText(podSelector) || 'of any label'}`;
  if (namespaceSelector === undefined) return pods;
  const namespaces = `namespaces ${selectorText(namespaceSelector) || 'of any label'}`;
  return pods === '' ? namespaces : `${pods} in ${namespaces}`;
}
