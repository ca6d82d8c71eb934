/** Registry credentials out of a pod's image pull secrets. */
import { secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, Secret } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import { matchingEntries, registryKey, repositoryOf } from '#nodeagent/images/registry-match.js';
import type { ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';

/** The entries of a secret by registry. Throws SyntaxError for what is not JSON. */
function entriesOf(secret: Secret, { secretTypes }: Dialect): Plain {
  const parse = (key: string): unknown =>
    JSON.parse(Buffer.from(secret.data?.[key] ?? '', 'base64').toString() || '{}');
  let entries: unknown;
  if (secret.type === secretTypes.dockerConfigJson) {
    const config = parse('.dockerconfigjson');
    entries = isPlain(config) ? config['auths'] : undefined;
  } else if (secret.type === secretTypes.dockercfg) entries = parse('.dockercfg');
  return isPlain(entries) ? entries : {};
}

/** Undefined for what holds no credential. */
function toAuth(entry: unknown): ImageAuth | undefined {
  if (!isPlain(entry)) return undefined;
  const text = (name: string) => (typeof entry[name] === 'string' ? (entry[name] as string) : '');
  const [user = '', ...rest] = Buffer.from(text('auth'), 'base64').toString().split(':');
  const auth: ImageAuth = {};
  const username = text('username') || user;
  const password = text('password') || rest.join(':');
  if (username !== '') auth.username = username;
  if (password !== '') auth.password = password;
  if (text('identitytoken') !== '') auth.identityToken = text('identitytoken');
  if (text('registrytoken') !== '') auth.registryToken = text('registrytoken');
  return Object.keys(auth).length === 0 ? undefined : auth;
}

/** Credentials that fit the image, the most specific registry first. Secrets that are not there or not JSON are skipped. */
export async function pullCredentials(
  pod: Pod,
  image: string,
  sources: { objects: Pick<ReferencedObjects, 'get'>; dialect: Dialect },
): Promise<ImageAuth[]> {
  const { namespace = '', uid = '' } = pod.metadata;
  const found: { key: string; value: ImageAuth }[] = [];
  for (const { name = '' } of pod.spec.imagePullSecrets ?? []) {
    const secret = await sources.objects.get<Secret>(secrets, { namespace, name }, uid);
    if (secret === undefined) continue;
    let entries: Plain;
    try {
      entries = entriesOf(secret, sources.dialect);
    } catch (error) {
      if (error instanceof SyntaxError) continue;
      throw error;
    }
    for (const [registry, entry] of Object.entries(entries)) {
      const value = toAuth(entry);
      if (value !== undefined) found.push({ key: registryKey(registry), value });
    }
  }
  return matchingEntries(found, repositoryOf(image));
}
