/** Registry credentials from a pod's image pull secrets. */
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import { type Credential, credentialsOf, parseDockerConfig } from '#nodeagent/images/docker-config.js';
import { matchingEntries, repositoryOf } from '#nodeagent/images/registry-match.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';

/** Throws SyntaxError for invalid JSON. */
function credentialsIn({ type, data }: Secret, { secretTypes }: Dialect): Credential[] {
  const text = (key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString();
  if (type === secretTypes.dockerConfigJson) return credentialsOf(parseDockerConfig(text('.dockerconfigjson'), 'json'));
  return type === secretTypes.dockercfg ? credentialsOf(parseDockerConfig(text('.dockercfg'), 'cfg')) : [];
}

export interface PullSecretSources {
  readonly objects: Pick<ReferencedObjects, 'get'>;
  readonly dialect: Dialect;
  /** Called for secrets that cannot be read now: as in 1.24, the pull continues without them. */
  readonly onFailure: (name: string, error: unknown) => void;
  /** Aborts when the pod is to end, so that no more objects are watched for it. */
  readonly signal: AbortSignal;
}

/**
 * Credentials that match the image, the most specific registry first. Skips missing secrets and invalid JSON. Rejects
 * with the signal's reason when it aborts.
 */
export async function pullCredentials(
  pod: Pod,
  image: string,
  { objects, dialect, onFailure, signal }: PullSecretSources,
): Promise<ImageAuth[]> {
  const { namespace = '', uid = '' } = pod.metadata;
  const credentials: Credential[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    signal.throwIfAborted();
    try {
      const secret = await objects.get<Secret>(secrets, { namespace, name }, uid);
      if (secret !== undefined) credentials.push(...credentialsIn(secret, dialect));
    } catch (error) {
      onFailure(name, error);
    }
  }
  return matchingEntries(credentials, repositoryOf(image));
}
