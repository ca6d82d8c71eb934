/** Registry credentials out of a pod's image pull secrets. */
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import { type Credential, credentialsOf, parseDockerConfig } from '#nodeagent/images/docker-config.js';
import { matchingEntries, repositoryOf } from '#nodeagent/images/registry-match.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';

/** Throws SyntaxError for what is not JSON. */
function credentialsIn({ type, data }: Secret, { secretTypes }: Dialect): Credential[] {
  const text = (key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString();
  if (type === secretTypes.dockerConfigJson) return credentialsOf(parseDockerConfig(text('.dockerconfigjson'), 'json'));
  return type === secretTypes.dockercfg ? credentialsOf(parseDockerConfig(text('.dockercfg'), 'cfg')) : [];
}

export interface PullSecretSources {
  readonly objects: Pick<ReferencedObjects, 'get'>;
  readonly dialect: Dialect;
  /** Told of secrets that cannot be had now: as in 1.24, the pull goes on without them. */
  readonly onFailure: (name: string, error: unknown) => void;
  /** The pod is to end: from then on nothing is followed for it any more. */
  readonly signal: AbortSignal;
}

/**
 * Credentials that fit the image, the most specific registry first. Secrets that are not there or not JSON are skipped.
 * Rejects with the signal's reason when that aborts.
 */
export async function pullCredentials(
  pod: Pod,
  image: string,
  { objects, dialect, onFailure, signal }: PullSecretSources,
): Promise<ImageAuth[]> {
  const { namespace = '', uid = '' } = pod.metadata;
  const found: Credential[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    signal.throwIfAborted();
    try {
      const secret = await objects.get<Secret>(secrets, { namespace, name }, uid);
      if (secret !== undefined) found.push(...credentialsIn(secret, dialect));
    } catch (error) {
      onFailure(name, error);
    }
  }
  return matchingEntries(found, repositoryOf(image));
}
