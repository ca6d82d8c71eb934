/** Reads and writes the `scale` of an autoscaler's target, of any kind. */
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
  /** The URL path of the `scale`. */
  readonly path: string;
  readonly scale: Scale;
}

/** The size could not be read. `message` is for the autoscaler's status, `summary` for the log. */
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

  /** Reads the live size. Throws TargetError. */
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

  /** Fails with a conflict if the target has changed since it was read. Throws the server's error. */
  async resize({ path, scale }: ScaleTarget, replicas: number): Promise<void> {
    await this.#client.request('PUT', path, { ...scale, spec: { ...scale.spec, replicas } });
  }
}

/** Validates the scale, which a third-party server may have sent. */
function sizeOf({ spec, status }: Scale): Size {
  const { replicas = 0 } = spec ?? {};
  const { replicas: statusReplicas = 0, selector = '' } = status ?? {};
  if (![replicas, statusReplicas].every((count) => Number.isInteger(count) && count >= 0)) {
    throw new TypeError('the scale has invalid replicas: expected integers of at least 0');
  }
  if (typeof selector !== 'string') throw new TypeError('the scale has an invalid selector: expected a string');
  return { replicas, statusReplicas, selector };
}
