/**
 * Provisions directories of nodes. The scheduler selects the node for the claim's first pod, and the node agent creates
 * and removes the directory. All later pods of the claim run on that node.
 */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import {
  type LocalVolumeResponse,
  localDirectoryProvisioner,
  localVolumeBytes,
  localVolumesPath,
} from '#api/core/v1/volume/local-provisioner.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { value } from '#apimachinery/quantity.js';
import type { Client } from '#client/client.js';
import {
  createVolume,
  deleteVolume,
  VolumeElsewhereError,
  type VolumeProvisioner,
  volumeForClaim,
} from '#controllers/persistentvolumebinder/volume-provisioner.js';

/** The timeout of requests to node agents. */
const requestTimeoutMs = 10_000;
/** The maximum size of a response, which is a path. */
const maxResponseBytes = 64 * 1024;
/** A directory is available on one node only. */
const possibleModes = new Set(['ReadWriteOnce', 'ReadWriteOncePod']);

/** The URL path of the directory in the node agent's API. */
function directoryPath(node: string, volume: string): string {
  return `/api/v1/nodes/${encodeURIComponent(node)}/proxy/${localVolumesPath}/${encodeURIComponent(volume)}`;
}

/** Why the class cannot provision a volume for the claim; undefined when it can. Pure. */
export function unsupportedReason({ spec }: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  const name = storageClass.metadata.name ?? '';
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') {
    return `StorageClass "${name}" must have volumeBindingMode WaitForFirstConsumer: the directory is on the node of the claim's first pod`;
  }
  if (spec.volumeMode === 'Block') return 'volumeMode must be Filesystem: a directory is not a block device';
  if (spec.selector !== undefined) return 'claim.spec.selector is not supported: a new volume has no labels';
  if (spec.dataSource !== undefined || spec.dataSourceRef !== undefined) return 'data sources are not supported';
  const wrong = (spec.accessModes ?? []).find((mode) => !possibleModes.has(mode));
  if (wrong !== undefined) return `access mode ${wrong} is not supported: a directory is on one node`;
  const [parameter] = Object.keys(storageClass.parameters ?? {});
  return parameter === undefined ? undefined : `StorageClass "${name}" has an unknown parameter: ${parameter}`;
}

/** Throws VolumeElsewhereError for a node without the label that the volume's affinity needs. Pure. */
function localVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  { node, path, dialect }: { readonly node: Node; readonly path: string; readonly dialect: Dialect },
): PersistentVolume {
  const key = dialect.labels.hostname;
  const hostname = node.metadata.labels?.[key];
  const { name: nodeName = '' } = node.metadata;
  if (hostname === undefined) throw new VolumeElsewhereError(`node "${nodeName}" has no label ${key}`);
  const volume = volumeForClaim(claim, storageClass, { dialect, plugin: localDirectoryProvisioner(dialect) });
  volume.metadata.annotations[dialect.annotations.localVolumeNode] = nodeName;
  const { mountOptions = [] } = storageClass;
  if (mountOptions.length > 0) volume.spec.mountOptions = [...mountOptions];
  volume.spec.local = { path };
  const matchExpressions = [{ key, operator: 'In', values: [hostname] }];
  volume.spec.nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  return volume;
}

export class LocalDirectoryVolumes implements VolumeProvisioner {
  readonly plugin: string;
  readonly #client: Client;

  constructor(client: Client) {
    this.plugin = localDirectoryProvisioner(client.dialect);
    this.#client = client;
  }

  async provision(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<PersistentVolume> {
    const { dialect } = this.#client;
    const reason = unsupportedReason(claim, storageClass);
    if (reason !== undefined) throw new Error(reason);
    const nodeName = claim.metadata.annotations?.[dialect.annotations.selectedNode] ?? '';
    const node = await this.#node(nodeName);
    if (node === undefined) throw new VolumeElsewhereError(`node "${nodeName}" not found`);
    // Validate before creating the directory, because without a volume the directory would be orphaned.
    const { metadata, spec } = localVolume(claim, storageClass, { node, path: '', dialect });
    const bytes = value(spec.capacity?.['storage'] ?? '0');
    const path = await this.#makeDirectory(nodeName, metadata.name ?? '', bytes);
    const volume = localVolume(claim, storageClass, { node, path, dialect });
    await createVolume(this.#client, volume);
    return volume;
  }

  /** Ignores the directory of a node that no longer exists. */
  async delete(volume: PersistentVolume): Promise<void> {
    const node = volume.metadata.annotations?.[this.#client.dialect.annotations.localVolumeNode] ?? '';
    try {
      await this.#request('DELETE', node, volume.metadata.name ?? '');
    } catch (error) {
      if (!isNotFound(error) || (await this.#node(node)) !== undefined) throw error;
    }
    await deleteVolume(this.#client, volume);
  }

  async #makeDirectory(node: string, volume: string, bytes: number): Promise<string> {
    try {
      const { path } = await this.#request<LocalVolumeResponse>('PUT', node, volume, `?${localVolumeBytes}=${bytes}`);
      if (typeof path !== 'string' || !path.startsWith('/')) throw new Error(`node "${node}" returned no path`);
      return path;
    } catch (error) {
      // An older node agent, or another implementation.
      if (isNotFound(error)) throw new VolumeElsewhereError(`node "${node}" does not support local directory volumes`);
      throw error;
    }
  }

  #request<R>(method: string, node: string, volume: string, query = ''): Promise<R> {
    const signal = AbortSignal.timeout(requestTimeoutMs);
    return this.#client.request<R>(method, directoryPath(node, volume) + query, undefined, {
      signal,
      maxBytes: maxResponseBytes,
    });
  }

  async #node(name: string): Promise<Node | undefined> {
    if (name === '') return undefined;
    try {
      return await this.#client.resource(nodes).get(name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
