/** The target of an autoscaler, of whatever kind: its `scale`. */
import type { Scale } from '#api/autoscaling/v1/types.gen.js';
import type { CrossVersionObjectReference } from '#api/autoscaling/v2/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import type { Client } from '#client/client.js';
import { pathSegment } from '#client/rest/paths.js';
import type { ServedKinds } from '#controllers/framework/served-kinds.js';
import type { Size } from '#controllers/horizontalpodautoscaling/status.js';

export interface ScaleTarget {
  readonly size: Size;
  /** Of its `scale`. */
  readonly path: string;
  readonly scale: Scale;
}

/** Why there is no size: for people who look at the autoscaler, and in the log. */
export class TargetError extends Error {
  override readonly name = 'TargetError';
  readonly summary: string;

  constructor(summary: string, cause: unknown) {
    super(messageOf(cause), { cause });
    this.summary = `${summary}: ${this.message}`;
  }
}

export class ScaleTargets {
  readonly #client: Client;
  readonly #kinds: ServedKinds;

  constructor(client: Client, kinds: ServedKinds) {
    this.#client = client;
    this.#kinds = kinds;
  }

  /** Its size as it is now, from no cache. Throws TargetError. */
  async get(namespace: string, { apiVersion = '', kind, name }: CrossVersionObjectReference): Promise<ScaleTarget> {
    if (apiVersion.split('/').length > 2) {
      const error = new Error(`unexpected GroupVersion string: ${apiVersion}`);
      throw new TargetError('invalid API version in scale target reference', error);
    }
    const { group } = parseGroupVersion(apiVersion);
    const kinds = await this.#kinds.ofKind(group, kind).catch((error: unknown) => {
      throw new TargetError('unable to determine resource for scale target reference', error);
    });
    const failures: unknown[] = [];
    for (const { base, resource } of kinds) {
      try {
        const path = `${base}/${['namespaces', namespace, resource, name, 'scale'].map(pathSegment).join('/')}`;
        const scale = await this.#client.request<Scale>('GET', path);
        return { path, scale, size: sizeOf(scale) };
      } catch (error) {
        failures.push(error);
      }
    }
    throw new TargetError(`failed to query scale subresource for ${kind}/${namespace}/${name}`, failures[0]);
  }

  /** Only if nobody changed the target since it was read. Throws what the server answers. */
  async resize({ path, scale }: ScaleTarget, replicas: number): Promise<void> {
    await this.#client.request('PUT', path, { ...scale, spec: { ...scale.spec, replicas } });
  }
}

/** The target's server may be any. */
function sizeOf({ spec, status }: Scale): Size {
  const { replicas = 0 } = spec ?? {};
  const { replicas: statusReplicas = 0, selector = '' } = status ?? {};
  if (![replicas, statusReplicas].every((count) => Number.isInteger(count) && count >= 0)) {
    throw new TypeError('replicas of the scale are no count');
  }
  if (typeof selector !== 'string') throw new TypeError('the selector of the scale is no text');
  return { replicas, statusReplicas, selector };
}
