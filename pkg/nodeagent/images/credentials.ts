/** Registry credentials out of a pod's image pull secrets. */
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import { type Credential, credentialsOf, parseDockerConfig } from '#nodeagent/images/docker-auth.js';
import { matchingEntries, repositoryOf } from '#nodeagent/images/registry-match.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';

/** Throws SyntaxError for what is not JSON. */
function credentialsIn({ type, data }: Secret, { secretTypes }: Dialect): Credential[] {
  const text = (key: string) => Buffer.from(data?.[key] ?? '', 'base64').toString();
  if (type === secretTypes.dockerConfigJson) return credentialsOf(parseDockerConfig(text('.dockerconfigjson'), 'json'));
  return type === secretTypes.dockercfg ? credentialsOf(parseDockerConfig(text('.dockercfg'), 'cfg')) : [];
}

/** Credentials that fit the image, the most specific registry first. Secrets that are not there or not JSON are skipped. */
export async function pullCredentials(
  pod: Pod,
  image: string,
  sources: { objects: Pick<ReferencedObjects, 'get'>; dialect: Dialect },
): Promise<ImageAuth[]> {
  const { namespace = '', uid = '' } = pod.metadata;
  const found: Credential[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    const secret = await sources.objects.get<Secret>(secrets, { namespace, name }, uid);
    if (secret === undefined) continue;
    try {
      found.push(...credentialsIn(secret, sources.dialect));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return matchingEntries(found, repositoryOf(image));
}
