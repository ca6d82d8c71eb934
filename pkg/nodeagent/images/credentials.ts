/** Registry credentials out of a pod's image pull secrets. */
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';

interface DockerAuth {
  username?: string;
  password?: string;
  auth?: string;
  identitytoken?: string;
  registrytoken?: string;
}

/** Host and path of the registry that a reference names; `docker.io` for the short forms. */
export function registryOf(image: string): string {
  const [first = ''] = image.split('/');
  const named = image.includes('/') && (first.includes('.') || first.includes(':') || first === 'localhost');
  return named ? image.replace(/(@.*|:[^:/]*)$/, '') : `docker.io/${image}`;
}

function entriesOf(secret: Secret, dialect: Dialect): Record<string, DockerAuth> {
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString() || '{}';
  if (secret.type === dialect.secretTypes.dockerConfigJson) {
    return (JSON.parse(text('.dockerconfigjson')) as { auths?: Record<string, DockerAuth> }).auths ?? {};
  }
  if (secret.type === dialect.secretTypes.dockercfg)
    return JSON.parse(text('.dockercfg')) as Record<string, DockerAuth>;
  return {};
}

function matches(registry: string, image: string): boolean {
  const place = registry
    .replace(/^https?:\/\//, '')
    .replace(/\/v[12]\/?$/, '')
    .replace(/^index\.docker\.io/, 'docker.io')
    .replace(/\/+$/, '');
  return image === place || image.startsWith(`${place}/`);
}

function toAuth(entry: DockerAuth): ImageAuth {
  const [username = '', ...rest] = Buffer.from(entry.auth ?? '', 'base64')
    .toString()
    .split(':');
  const auth: ImageAuth = {};
  const user = entry.username ?? username;
  const password = entry.password ?? rest.join(':');
  if (user !== '') auth.username = user;
  if (password !== '') auth.password = password;
  if (entry.identitytoken !== undefined) auth.identityToken = entry.identitytoken;
  if (entry.registrytoken !== undefined) auth.registryToken = entry.registrytoken;
  return auth;
}

/** Credentials that fit the image, the longest registry path first. Secrets that are not there or not JSON are skipped. */
export async function pullCredentials(
  pod: Pod,
  image: string,
  sources: { objects: ReferencedObjects; dialect: Dialect },
): Promise<ImageAuth[]> {
  const { namespace = '', uid = '' } = pod.metadata;
  const wanted = registryOf(image);
  const found: { registry: string; auth: ImageAuth }[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    const secret = await sources.objects.get(secrets, { namespace, name }, uid);
    if (secret === undefined) continue;
    let entries: Record<string, DockerAuth>;
    try {
      entries = entriesOf(secret, sources.dialect);
    } catch (error) {
      if (error instanceof SyntaxError) continue;
      throw error;
    }
    for (const [registry, entry] of Object.entries(entries)) {
      if (matches(registry, wanted)) found.push({ registry, auth: toAuth(entry) });
    }
  }
  return found.sort((a, b) => b.registry.length - a.registry.length).map(({ auth }) => auth);
}
