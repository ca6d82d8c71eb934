/** What a driver changes in the node's objects. Rules and texts of 1.24 (pkg/volume/csi/nodeinfomanager). Pure. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { CSINode, CSINodeDriver } from '#api/storage/v1/types.gen.js';
import type { NodeInfo } from '#nodeagent/csi/driver/node-info.js';

/** The largest limit that the API can express. */
const maxCount = 2 ** 31 - 1;

/** The node's IDs by driver, in the annotation's JSON. Throws Error with 1.24's text. */
function nodeIDs(node: Node, annotation: string): Record<string, string> {
  const text = node.metadata.annotations?.[annotation] ?? '';
  if (text === '') return {};
  try {
    const ids = JSON.parse(text) as unknown;
    if (typeof ids !== 'object' || ids === null || Array.isArray(ids)) throw new TypeError('not an object');
    return ids as Record<string, string>;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`failed to parse node's "${annotation}" annotation value ("${text}") err=${why}`, { cause: error });
  }
}

/** Keys in order, as Go writes maps. */
function annotationOf(ids: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(ids).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/**
 * A merge patch that adds the driver's ID and topology to the node; undefined without a change. `annotation`: its name.
 * Throws Error for an unreadable annotation, and for a label with another value.
 */
export function installationPatch(
  node: Node,
  driver: string,
  { info, annotation }: { readonly info: NodeInfo; readonly annotation: string },
): object | undefined {
  const ids = nodeIDs(node, annotation);
  const { labels = {} } = node.metadata;
  for (const [key, label] of Object.entries(info.topology)) {
    const existing = labels[key];
    if (existing !== undefined && existing !== label) {
      throw new Error(
        `detected topology value collision: driver reported "${key}":"${label}" but existing label is "${key}":"${existing}"`,
      );
    }
  }
  const added = Object.entries(info.topology).filter(([key]) => labels[key] === undefined);
  const isCurrent = ids[driver] === info.nodeID;
  if (isCurrent && added.length === 0) return undefined;
  return {
    metadata: {
      ...(isCurrent ? {} : { annotations: { [annotation]: annotationOf({ ...ids, [driver]: info.nodeID }) } }),
      ...(added.length === 0 ? {} : { labels: Object.fromEntries(added) }),
    },
  };
}

/** A merge patch that removes the driver's ID from the node; undefined without a change. Throws Error. */
export function removalPatch(node: Node, driver: string, annotation: string): object | undefined {
  const { [driver]: removed, ...others } = nodeIDs(node, annotation);
  if (removed === undefined) return undefined;
  const left = Object.keys(others).length === 0 ? null : annotationOf(others);
  return { metadata: { annotations: { [annotation]: left } } };
}

/** The CSINode with the driver; undefined without a change. A new limit alone is no change, as in 1.24. */
export function withDriver(
  object: CSINode,
  name: string,
  { nodeID, maxVolumes, topology }: NodeInfo,
): CSINode | undefined {
  const topologyKeys = Object.keys(topology).sort();
  const drivers = driversOf(object);
  const before = drivers.find((driver) => driver.name === name);
  const isSame = before?.nodeID === nodeID && [...(before.topologyKeys ?? [])].sort().join() === topologyKeys.join();
  if (isSame) return undefined;
  const count = Math.min(maxVolumes, maxCount);
  const driver: CSINodeDriver = { name, nodeID, topologyKeys, ...(count > 0 ? { allocatable: { count } } : {}) };
  const others = drivers.filter((each) => each.name !== name);
  return { ...object, spec: { ...object.spec, drivers: [...others, driver] } };
}

/** The CSINode without the driver; undefined without a change. */
export function withoutDriver(object: CSINode, name: string): CSINode | undefined {
  const drivers = driversOf(object);
  const others = drivers.filter((driver) => driver.name !== name);
  return others.length === drivers.length ? undefined : { ...object, spec: { ...object.spec, drivers: others } };
}

/** An empty list is null in another implementation's JSON, and absent in Protobuf. */
function driversOf({ spec }: CSINode): readonly CSINodeDriver[] {
  return spec.drivers ?? [];
}

/** A CSINode without drivers, owned by the node. */
export function newCSINode(node: Node): CSINode {
  const { name = '', uid = '' } = node.metadata;
  return {
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { drivers: [] },
  };
}
