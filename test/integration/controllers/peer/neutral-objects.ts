/** Removes the parts of objects that vary between runs: identities, times, addresses and random names. Pure. */
import { formatted } from '#test/integration/controllers/peer/sorted-json.js';

type JsonObject = Record<string, unknown>;

/** The values observed in a namespace. */
export interface Seen {
  readonly namespace: string;
  /** UID → `Kind/name`. */
  readonly uids: ReadonlyMap<string, string>;
  /** Prefixes of generated names. */
  readonly prefixes: ReadonlySet<string>;
  /** Numbers of template hashes, which differ between implementations. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Without the names of shared nodes. */
  readonly anyNode: boolean;
}

const uid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const time = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC( m=\+[\d.]+)?|[+-]\d\d:\d\d)?/g;
/** Addresses of pods and services; other addresses belong to the situation. */
const address = /\b10\.(?:1|96)\.\d+\.\d+\b|\bfd00:[0-9a-f:]+/g;
/** Minutes since 1970, the suffix of a cron job's jobs. */
const minutes = /-[23]\d{7}(?!\d)/g;
const sharedNode = /^n[1-4]$/;
const ofHash = /(<hash \d+>-)[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])/g;
const suffix = '[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])';

/** Members that are not compared. */
const dropped = new Set(['uid', 'resourceVersion', 'managedFields', 'creationTimestamp', 'selfLink', 'apiVersion']);

/** Members of `spec` that controllers write or read, by kind. */
const keptSpec: Readonly<Record<string, readonly string[]>> = {
  DaemonSet: [],
  Deployment: ['replicas', 'paused'],
  Job: ['suspend', 'parallelism', 'completions', 'completionMode'],
  Namespace: ['finalizers'],
  Node: ['taints', 'podCIDR', 'unschedulable'],
  PersistentVolume: ['claimRef', 'persistentVolumeReclaimPolicy'],
  PersistentVolumeClaim: ['volumeName', 'storageClassName'],
  Pod: ['nodeName', 'hostname', 'subdomain', 'affinity', 'tolerations'],
  ReplicaSet: ['replicas', 'selector'],
  ReplicationController: ['replicas'],
  StatefulSet: ['replicas'],
};

/** The compared form of an object. */
export function neutralObject(object: JsonObject, kind: string, seen: Seen): JsonObject {
  const texts = (text: string) => neutralText(text, seen);
  const plain = walk(object, texts) as JsonObject;
  if (kind === 'Event') return neutralEvent(plain);
  const { metadata, spec, status, ...rest } = plain;
  const { generation, ...others } = metadata as JsonObject;
  if (kind.startsWith('Endpoint')) dropTrigger(others);
  const result: JsonObject = { kind, metadata: others, ...rest };
  const kept = Object.fromEntries(
    (keptSpec[kind] ?? []).flatMap((name) => {
      const value = (spec as JsonObject | undefined)?.[name];
      return value === undefined ? [] : [[name, name === 'tolerations' ? ownTolerations(value) : value]];
    }),
  );
  if (Object.keys(kept).length > 0) result['spec'] = kept;
  if (status !== undefined) result['status'] = neutralStatus(kind, status as JsonObject, generation);
  if (kind === 'Secret' || kind === 'ConfigMap')
    result['data'] = Object.keys((rest['data'] ?? {}) as JsonObject).sort();
  if (kind === 'ControllerRevision') delete result['data'];
  if (kind === 'Endpoints')
    result['subsets'] = sortedLists(rest['subsets'], ['addresses', 'notReadyAddresses', 'ports']);
  if (kind === 'EndpointSlice') {
    delete others['generateName'];
    result['endpoints'] = sorted(rest['endpoints']);
    result['ports'] = sorted(rest['ports']);
  }
  return result;
}

function neutralText(text: string, { namespace, uids, prefixes, hashes, anyNode }: Seen): string {
  if (anyNode && sharedNode.test(text)) return '<node>';
  let plain = text.replaceAll(namespace, '{ns}');
  for (const prefix of prefixes) {
    if (!plain.includes(prefix)) continue;
    plain = plain.replaceAll(new RegExp(`${prefix.replaceAll(/[.{}]/g, '\\$&')}${suffix}`, 'g'), `${prefix}*`);
  }
  for (const [hash, number] of hashes) plain = plain.replaceAll(hash, number);
  // Of rejected pods.
  plain = plain.replaceAll(ofHash, '$1*');
  return plain
    .replaceAll(uid, (id) => `<uid ${uids.get(id) ?? 'unknown'}>`)
    .replaceAll(time, '<time>')
    .replaceAll(address, '<ip>')
    .replaceAll(minutes, '-<minutes>');
}

function walk(value: unknown, texts: (text: string) => string): unknown {
  if (typeof value === 'string') return texts(value);
  if (Array.isArray(value)) return value.map((part: unknown) => walk(part, texts));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    // Omit unset members.
    if (dropped.has(key) || member === undefined || member === null) return [];
    if (key === 'nodePort' || key === 'healthCheckNodePort') return [[key, '<port>']];
    return [[texts(key), walk(member, texts)]];
  });
  return Object.fromEntries(members);
}

/** The annotation's presence depends on the speed of both sides. */
function dropTrigger(metadata: JsonObject): void {
  const { annotations } = metadata;
  if (annotations === undefined) return;
  const { 'endpoints.kubernetes.io/last-change-trigger-time': _, ...others } = annotations as JsonObject;
  if (Object.keys(others).length > 0) metadata['annotations'] = others;
  else delete metadata['annotations'];
}

/** Counts depend on the speed of both sides. */
function neutralEvent(event: JsonObject): JsonObject {
  const { involvedObject, type, reason, message, source } = event;
  const { kind, name, fieldPath } = involvedObject as JsonObject;
  const { component } = (source ?? {}) as JsonObject;
  const path = fieldPath === undefined || fieldPath === '' ? {} : { fieldPath };
  return { kind: 'Event', on: `${String(kind)}/${String(name)}`, type, reason, message, from: component, ...path };
}

function neutralStatus(kind: string, status: JsonObject, generation: unknown): JsonObject {
  const { observedGeneration, ...rest } = status;
  const result: JsonObject = { ...rest };
  if (observedGeneration !== undefined) result['observed'] = observedGeneration === generation;
  // Node conditions come from the situation.
  if (kind === 'Pod') return { phase: rest['phase'], reason: rest['reason'], message: rest['message'] };
  if (kind === 'Node') return { conditions: rest['conditions'] };
  return result;
}

/** Without the tolerations that the server adds to every pod. */
function ownTolerations(value: unknown): unknown[] {
  return (value as JsonObject[]).filter(({ tolerationSeconds }) => tolerationSeconds !== 300);
}

function sorted(list: unknown): unknown {
  return Array.isArray(list) ? list.toSorted((a, b) => (formatted(a) < formatted(b) ? -1 : 1)) : list;
}

function sortedLists(list: unknown, names: readonly string[]): unknown {
  if (!Array.isArray(list)) return list;
  return sorted(
    list.map((each: JsonObject) =>
      Object.fromEntries(
        Object.entries(each).map(([key, value]) => [key, names.includes(key) ? sorted(value) : value]),
      ),
    ),
  );
}
