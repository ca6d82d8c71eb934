/** Builds the files of configMap, secret, downwardAPI and projected volumes. */
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type {
  ConfigMap,
  DownwardAPIVolumeFile,
  KeyToPath,
  Pod,
  ProjectedVolumeSource,
  Secret,
  ServiceAccountTokenProjection,
  Volume,
  VolumeProjection,
} from '#api/core/v1/types.gen.js';
import { fieldValue, type PodFacts, resourceValue } from '#nodeagent/environment/field-ref.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import { defaultExpirationSeconds, type TokenManager } from '#nodeagent/volumes/tokens.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

export interface PayloadFile {
  readonly data: Buffer;
  readonly mode: number;
  /** Owner; default root. */
  readonly user?: number;
}

export interface Payload {
  /** Relative path → file. */
  readonly files: ReadonlyMap<string, PayloadFile>;
  /** When a file is due for renewal (monotonic ms). */
  readonly renewAt?: number;
}

export interface PayloadSources {
  readonly objects: ReferencedObjects;
  /** Absent on nodes that write no files: tokens are skipped. */
  readonly tokens?: TokenManager;
  readonly facts: PodFacts;
}

const defaultMode = 0o644;

type Add = () => void;

class Builder {
  readonly files = new Map<string, PayloadFile>();
  renewAt = Number.POSITIVE_INFINITY;
  readonly #pod: Pod;
  readonly #sources: PayloadSources;

  constructor(pod: Pod, sources: PayloadSources) {
    this.#pod = pod;
    this.#sources = sources;
  }

  #add(path: string, data: Buffer, mode: number, user?: number): void {
    const parts = path.split('/');
    // The writer reserves names with two leading dots.
    if (path === '' || path.startsWith('/') || path.startsWith('..') || parts.includes('..')) {
      throw new VolumeError(`invalid path "${path}"`);
    }
    this.files.set(path, user === undefined ? { data, mode } : { data, mode, user });
  }

  #keys(
    what: string,
    data: ReadonlyMap<string, Buffer> | undefined,
    source: { items?: readonly KeyToPath[]; optional?: boolean; mode: number },
  ): void {
    if (data === undefined) {
      if (source.optional === true) return;
      throw new VolumeError(`${what} not found`);
    }
    if ((source.items ?? []).length === 0) {
      for (const [key, bytes] of data) this.#add(key, bytes, source.mode);
      return;
    }
    for (const item of source.items ?? []) {
      const bytes = data.get(item.key);
      if (bytes !== undefined) this.#add(item.path, bytes, item.mode ?? source.mode);
      else if (source.optional !== true)
        throw new VolumeError(
          what.startsWith('secret')
            ? `references non-existent secret key: ${item.key}`
            : `configmap references non-existent config key: ${item.key}`,
        );
    }
  }

  /** Reads the object; the returned function adds its files. */
  async configMap(
    source: { name?: string; items?: readonly KeyToPath[]; optional?: boolean },
    mode: number,
  ): Promise<Add> {
    const { namespace = '', uid = '' } = this.#pod.metadata;
    const object = await this.#sources.objects.get<ConfigMap>(configmaps, { namespace, name: source.name ?? '' }, uid);
    const data =
      object === undefined
        ? undefined
        : new Map([
            ...Object.entries(object.data ?? {}).map(([key, text]): [string, Buffer] => [key, Buffer.from(text)]),
            ...Object.entries(object.binaryData ?? {}).map(([k, b]): [string, Buffer] => [k, Buffer.from(b, 'base64')]),
          ]);
    return () => this.#keys(`configmap "${source.name ?? ''}"`, data, { ...source, mode });
  }

  /** Reads the object; the returned function adds its files. */
  async secret(source: { name: string; items?: readonly KeyToPath[]; optional?: boolean }, mode: number): Promise<Add> {
    const { namespace = '', uid = '' } = this.#pod.metadata;
    const object = await this.#sources.objects.get<Secret>(secrets, { namespace, name: source.name }, uid);
    const data =
      object === undefined
        ? undefined
        : new Map(Object.entries(object.data ?? {}).map(([k, b]): [string, Buffer] => [k, Buffer.from(b, 'base64')]));
    return () => this.#keys(`secret "${source.name}"`, data, { ...source, mode });
  }

  downwardAPI(items: readonly DownwardAPIVolumeFile[], mode: number): void {
    for (const item of items) {
      let text = '';
      try {
        if (item.fieldRef !== undefined) text = fieldValue(this.#pod, item.fieldRef.fieldPath, this.#sources.facts);
        else if (item.resourceFieldRef !== undefined) {
          text = resourceValue(this.#pod, item.resourceFieldRef, undefined, this.#sources.facts);
        }
      } catch (error) {
        throw new VolumeError((error as Error).message, { cause: error });
      }
      this.#add(item.path, Buffer.from(text), item.mode ?? mode);
    }
  }

  async projected({ sources = [], defaultMode: mode = defaultMode }: ProjectedVolumeSource): Promise<void> {
    // Reads sources concurrently, but adds them in order: the last one wins for equal paths.
    for (const add of (await Promise.all(sources.map((part) => this.#additions(part, mode)))).flat()) add();
  }

  async #additions(part: VolumeProjection, mode: number): Promise<Add[]> {
    const { configMap, secret, downwardAPI, serviceAccountToken } = part;
    return [
      ...(configMap === undefined ? [] : [await this.configMap(configMap, mode)]),
      ...(secret === undefined ? [] : [await this.secret({ ...secret, name: secret.name ?? '' }, mode)]),
      ...(downwardAPI === undefined ? [] : [() => this.downwardAPI(downwardAPI.items ?? [], mode)]),
      ...(serviceAccountToken === undefined ? [] : [await this.#token(serviceAccountToken, mode)]),
    ];
  }

  async #token(source: ServiceAccountTokenProjection, mode: number): Promise<Add> {
    const { tokens } = this.#sources;
    if (tokens === undefined) return () => undefined;
    const { path, audience = '', expirationSeconds = defaultExpirationSeconds } = source;
    const { token, renewAt } = await tokens.get(this.#pod, { audience, expirationSeconds: Number(expirationSeconds) });
    this.renewAt = Math.min(this.renewAt, renewAt);
    const user = commonUser(this.#pod);
    const isOwned = user !== undefined || this.#pod.spec.securityContext?.fsGroup !== undefined;
    return () => this.#add(path, Buffer.from(token), isOwned ? 0o600 : mode, user);
  }
}

/** The user that all containers of the pod run as; undefined if they differ or one has none. */
function commonUser({ spec }: Pod): number | undefined {
  const { containers, initContainers = [], securityContext } = spec;
  const users = [...initContainers, ...containers].map(
    (container) => container.securityContext?.runAsUser ?? securityContext?.runAsUser,
  );
  const [first] = users;
  return first !== undefined && users.every((user) => user === first) ? Number(first) : undefined;
}

/** The files of a volume; undefined for other volume types. Throws VolumeError and StatusError. */
export async function volumePayload(pod: Pod, volume: Volume, sources: PayloadSources): Promise<Payload | undefined> {
  const builder = new Builder(pod, sources);
  if (volume.configMap !== undefined)
    (await builder.configMap(volume.configMap, volume.configMap.defaultMode ?? defaultMode))();
  else if (volume.secret !== undefined) {
    const { secretName = '', ...rest } = volume.secret;
    (await builder.secret({ ...rest, name: secretName }, volume.secret.defaultMode ?? defaultMode))();
  } else if (volume.downwardAPI !== undefined) {
    builder.downwardAPI(volume.downwardAPI.items ?? [], volume.downwardAPI.defaultMode ?? defaultMode);
  } else if (volume.projected !== undefined) await builder.projected(volume.projected);
  else return undefined;
  return Number.isFinite(builder.renewAt)
    ? { files: builder.files, renewAt: builder.renewAt }
    : { files: builder.files };
}
