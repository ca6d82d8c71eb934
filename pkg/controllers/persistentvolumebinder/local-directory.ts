/**
 * Volumes that are directories of nodes: of the node that the scheduler has picked for the claim's first pod, whose agent
 * makes and removes them. All later pods of the claim come to that node.
 */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import {
  type LocalVolumeMade,
  localDirectoryProvisioner,
  localVolumeBytes,
  localVolumesPath,
} from '#api/core/v1/volume/local-directory.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { value } from '#apimachinery/quantity.js';
import type { Client } from '#client/client.js';
import {
  createVolume,
  deleteVolume,
  VolumeElsewhereError,
  type VolumeMaker,
  volumeForClaim,
} from '#controllers/persistentvolumebinder/volume-maker.js';

/** Longest time that an agent may take to answer; ms. */
const answerMs = 10_000;
/** Of its answers, which are a path. */
const maxAnswerBytes = 64 * 1024;
/** A directory is on one node: nobody else can have it. */
const possibleModes = new Set(['ReadWriteOnce', 'ReadWriteOncePod']);

/** Where the agent is asked about the directory. */
function directoryPath(node: string, volume: string): string {
  return `/api/v1/nodes/${encodeURIComponent(node)}/proxy/${localVolumesPath}/${encodeURIComponent(volume)}`;
}

/** Why there can be no volume of the class for the claim. Pure. */
export function refusalOf({ spec }: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  const name = storageClass.metadata.name ?? '';
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') {
    return `StorageClass "${name}" must have volumeBindingMode WaitForFirstConsumer: the directory is on the node of the claim's first pod`;
  }
  if (spec.volumeMode === 'Block') return 'a directory is no block device: volumeMode must be Filesystem';
  if (spec.selector !== undefined) return 'claim.spec.selector is not supported: a new volume has no labels';
  if (spec.dataSource !== undefined || spec.dataSourceRef !== undefined) return 'data sources are not supported';
  const wrong = (spec.accessModes ?? []).find((mode) => !possibleModes.has(mode));
  if (wrong !== undefined) return `access mode ${wrong} is not supported: a directory is on one node`;
  const [parameter] = Object.keys(storageClass.parameters ?? {});
  return parameter === undefined ? undefined : `StorageClass "${name}" has a parameter that is not known: ${parameter}`;
}

/** Throws VolumeElsewhereError for a node without the label that volumes find it by. Pure. */
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

export class LocalDirectoryVolumes implements VolumeMaker {
  readonly plugin: string;
  readonly #client: Client;

  constructor(client: Client) {
    this.plugin = localDirectoryProvisioner(client.dialect);
    this.#client = client;
  }

  async make(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<PersistentVolume> {
    const { dialect } = this.#client;
    const refusal = refusalOf(claim, storageClass);
    if (refusal !== undefined) throw new Error(refusal);
    const nodeName = claim.metadata.annotations?.[dialect.annotations.selectedNode] ?? '';
    const node = await this.#node(nodeName);
    if (node === undefined) throw new VolumeElsewhereError(`node "${nodeName}" not found`);
    // Before the agent is asked: there is no volume that its directory could be found by.
    const { metadata, spec } = localVolume(claim, storageClass, { node, path: '', dialect });
    const bytes = value(spec.capacity?.['storage'] ?? '0');
    const path = await this.#makeDirectory(nodeName, metadata.name ?? '', bytes);
    const volume = localVolume(claim, storageClass, { node, path, dialect });
    await createVolume(this.#client, volume);
    return volume;
  }

  /** What was on a node that is no more is gone already. */
  async delete(volume: PersistentVolume): Promise<void> {
    const node = volume.metadata.annotations?.[this.#client.dialect.annotations.localVolumeNode] ?? '';
    try {
      await this.#ask('DELETE', node, volume.metadata.name ?? '');
    } catch (error) {
      if (!isNotFound(error) || (await this.#node(node)) !== undefined) throw error;
    }
    await deleteVolume(this.#client, volume);
  }

  async #makeDirectory(node: string, volume: string, bytes: number): Promise<string> {
    try {
      const { path } = await this.#ask<LocalVolumeMade>('PUT', node, volume, `?${localVolumeBytes}=${bytes}`);
      if (typeof path !== 'string' || !path.startsWith('/')) throw new Error(`node "${node}" answered without a path`);
      return path;
    } catch (error) {
      // An agent of another implementation, or an older one.
      if (isNotFound(error)) throw new VolumeElsewhereError(`node "${node}" makes no directories for volumes`);
      throw error;
    }
  }

  #ask<R>(method: string, node: string, volume: string, query = ''): Promise<R> {
    const signal = AbortSignal.timeout(answerMs);
    return this.#client.request<R>(method, directoryPath(node, volume) + query, undefined, {
      signal,
      maxBytes: maxAnswerBytes,
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
