/** Converts a manifest to the pod that the node runs. Rules of release 1.24 (kubelet config/common.go). */

import { createHash } from 'node:crypto';
import { podStrategy } from '#api/core/v1/pod/strategy.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import type { RuleGate } from '#api/strategy/feature-gates.js';
import type { StrategyContext } from '#api/strategy/strategy.js';
import type { Clock } from '#apimachinery/clock.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { pathSegmentErrors } from '#apimachinery/validation/names.js';

/** Source of a static pod; the value of its source annotation. */
export type StaticSource = 'file' | 'http';

/** Limit of a manifest. */
export const maxManifestBytes = 10 * 1024 * 1024;

/** The text is no valid manifest of a pod. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

export interface ManifestReaderOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly gate: RuleGate;
}

export class ManifestReader {
  readonly #options: ManifestReaderOptions;
  readonly #codec: ObjectCodec;
  readonly #context: StrategyContext;

  constructor(options: ManifestReaderOptions) {
    const { dialect, clock, gate } = options;
    const scheme = schemeFor(dialect);
    this.#options = options;
    this.#codec = new ObjectCodec(scheme);
    this.#context = { dialect, scheme, gate, now: clock.now(), monotonic: () => clock.monotonic() };
  }

  /** The pod of a YAML or JSON file. Throws ManifestError. `path` is part of the pod's UID. */
  file(bytes: Buffer, path: string): Pod {
    const { nodeName } = this.#options;
    const value = parsed(bytes, (problem) => `${path}: couldn't parse as pod(${problem}), please check config file`);
    return this.#pod(value, { origin: `host:${nodeName}file:${path}`, isFile: true });
  }

  /** The pod, or the pods of the list, in a response. Throws ManifestError if one of them is invalid. */
  podsOf(bytes: Buffer, url: string): Pod[] {
    const value = parsed(bytes, (problem) => `${url}: couldn't parse as single or multiple pods (${problem})`);
    const origin = { origin: `url:${url}`, isFile: false };
    return podsOf(value).map((each) => this.#pod(each, origin));
  }

  #pod(value: unknown, from: { origin: string; isFile: boolean }): Pod {
    const pod = this.#decode(value);
    podStrategy.defaults?.(pod, this.#context);
    if ((pod.metadata.name ?? '') === '') throw new ManifestError('invalid pod: name is needed for the pod');
    this.#complete(pod, from);
    // Directories have the UID as their name, and only the API server chooses UIDs that are safe.
    const faults = pathSegmentErrors(pod.metadata.uid ?? '');
    if (faults.length > 0) throw new ManifestError(`invalid pod: metadata.uid: ${faults.join(', ')}`);
    const failures = podStrategy.validateCreate?.(pod, this.#context) ?? [];
    if (failures.length > 0) throw new ManifestError(`invalid pod: [${failures.map(failureText).join(', ')}]`);
    return pod;
  }

  #decode(value: unknown): Draft<Pod> {
    const scheme = schemeFor(this.#options.dialect);
    const expected = scheme.kind('v1', 'Pod');
    try {
      const { object, kind } = this.#codec.decodeValue(value, {});
      if (kind.type !== expected?.type) throw new ManifestError(`invalid pod: it is a ${kind.kind}`);
      return object as unknown as Draft<Pod>;
    } catch (error) {
      if (error instanceof ManifestError) throw error;
      throw new ManifestError(`couldn't parse as pod(${messageOf(error)}), please check config file`, { cause: error });
    }
  }

  /** Sets fields that the scheduler and the API would set. */
  #complete(pod: Draft<Pod>, { origin, isFile }: { origin: string; isFile: boolean }): void {
    const { dialect, nodeName } = this.#options;
    const { metadata, spec } = pod;
    if ((metadata.uid ?? '') === '') {
      metadata.uid = createHash('md5').update(canonical(pod)).update(origin).digest('hex');
    }
    metadata.name = `${metadata.name}-${nodeName.toLowerCase()}`;
    if ((metadata.namespace ?? '') === '') metadata.namespace = dialect.namespaces.default;
    spec.nodeName = nodeName;
    metadata.annotations = { ...metadata.annotations, [dialect.annotations.configHash]: metadata.uid ?? '' };
    if (isFile) {
      // Static pods of files are never evicted by taints.
      const others = (spec.tolerations ?? []).filter(
        ({ key = '', operator, effect }) => !(key === '' && operator === 'Exists' && effect === 'NoExecute'),
      );
      spec.tolerations = [...others, { operator: 'Exists', effect: 'NoExecute' }];
    }
    pod.status = { phase: 'Pending' };
  }
}

/** Parses YAML. Throws ManifestError with a message made from the parser's. */
function parsed(bytes: Buffer, message: (problem: string) => string): unknown {
  try {
    return parseYAML(bytes.toString('utf8'));
  } catch (error) {
    throw new ManifestError(message(messageOf(error)), { cause: error });
  }
}

/** Items of a list take kind and version from the list. */
function podsOf(value: unknown): unknown[] {
  const { kind, apiVersion, items } = (value ?? {}) as { kind?: unknown; apiVersion?: unknown; items?: unknown };
  if (kind !== 'PodList' || apiVersion !== 'v1') return [value];
  if (!Array.isArray(items)) return [];
  return items.map((item: unknown) =>
    typeof item === 'object' && item !== null ? { kind: 'Pod', apiVersion: 'v1', ...item } : item,
  );
}

function failureText({ field, message }: FieldFailure): string {
  return `${field}: ${message}`;
}

/** Equal values give equal texts, independent of member order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
