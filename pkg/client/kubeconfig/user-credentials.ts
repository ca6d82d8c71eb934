/** What a user entry of a client config file proves itself with. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { ExecCredentials, execConfigOf } from '#client/kubeconfig/exec-credentials.js';
import { execMetrics } from '#client/kubeconfig/exec-metrics.js';
import { childProcessPlugins, type PluginSurroundings } from '#client/kubeconfig/exec-plugin.js';
import { type Cluster, KubeconfigError, type User } from '#client/kubeconfig/file.js';
import { inlineOrFile } from '#client/kubeconfig/inline-or-file.js';
import { OidcToken, oidcConfigOf } from '#client/kubeconfig/oidc.js';
import type { ReadFile } from '#daemon/certificates/certificate-files.js';
import { FileToken, staticToken, type TlsSource, type TokenSource } from '#http/client/credentials.js';

export interface UserSurroundings {
  readonly name: string;
  /** Names the config in messages. */
  readonly source: string;
  /** The file of the entry, where what is renewed is written. */
  readonly file: string | undefined;
  readonly clock: Clock;
  readonly readFile: ReadFile;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly plugins: PluginSurroundings | undefined;
  readonly metrics: Registry | undefined;
  readonly proxy: URL | undefined;
  /** With its server filled in. */
  readonly cluster: Cluster & { readonly server: string };
}

interface Pem {
  readonly inline: Buffer | undefined;
  readonly file: string | undefined;
}

export interface UserCredentials {
  readonly certificate: Pem;
  readonly key: Pem;
  readonly token?: TokenSource;
  /** Puts a certificate that comes from elsewhere in the place of the one in `base`. */
  readonly tls?: (base: TlsSource) => TlsSource;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** Throws KubeconfigError for an entry that cannot be used. */
export function credentialsOf(user: User, surroundings: UserSurroundings): UserCredentials {
  const where = `${surroundings.source}: user ${JSON.stringify(surroundings.name)}`;
  const headers = { ...basic(user), ...impersonation(user, where) };
  const common = {
    certificate: inlineOrFile(user, 'client-certificate'),
    key: inlineOrFile(user, 'client-key'),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
  if (user.exec !== undefined && user['auth-provider'] !== undefined) {
    throw new KubeconfigError(`${where}: exec and auth-provider cannot be used together`);
  }
  // A token that the entry holds is as good as one that would have to be asked for.
  const fixed = ownToken(user, surroundings);
  if (user.exec !== undefined) {
    const { clock, readFile, env, plugins, metrics, cluster, proxy } = surroundings;
    const exec = new ExecCredentials(execConfigOf(user.exec, where), {
      clock,
      readFile,
      cluster,
      proxy,
      plugins: plugins ?? childProcessPlugins(env),
      ...(metrics === undefined ? {} : { metrics: execMetrics(metrics, clock) }),
    });
    return { ...common, token: fixed ?? exec, tls: (base) => exec.tls(base) };
  }
  const provider = user['auth-provider'];
  if (provider !== undefined) {
    if (provider.name !== 'oidc') {
      throw new KubeconfigError(
        `${where}: auth-provider ${JSON.stringify(provider.name)} is not supported; use its credential plugin in "exec"`,
      );
    }
    const oidc = new OidcToken(oidcConfigOf(provider.config ?? {}, where), surroundings);
    return { ...common, token: fixed ?? oidc };
  }
  return fixed === undefined ? common : { ...common, token: fixed };
}

/** The file wins: it is the one that rotates. */
function ownToken(user: User, { clock, readFile }: UserSurroundings): TokenSource | undefined {
  const { token = '', tokenFile = '' } = user;
  if (tokenFile !== '') return new FileToken({ path: tokenFile, clock, readFile });
  return token === '' ? undefined : staticToken(token);
}

function basic({ username = '', password = '' }: User): Record<string, string> {
  if (username === '' && password === '') return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

function impersonation(user: User, where: string): Record<string, string | string[]> {
  const { as = '', 'as-uid': uid = '', 'as-groups': groups = [], 'as-user-extra': extra = {} } = user;
  if (as === '') {
    if (uid === '' && groups.length === 0 && Object.keys(extra).length === 0) return {};
    throw new KubeconfigError(`${where}: requesting uid, groups or user-extra without impersonating a user`);
  }
  const headers: Record<string, string | string[]> = { 'impersonate-user': as };
  if (uid !== '') headers['impersonate-uid'] = uid;
  if (groups.length > 0) headers['impersonate-group'] = [...groups];
  for (const [key, values] of Object.entries(extra)) {
    if (!Array.isArray(values))
      throw new KubeconfigError(`${where}: as-user-extra ${JSON.stringify(key)} is not a list`);
    headers[`impersonate-extra-${headerKey(key)}`] = values.map(String);
  }
  return headers;
}

/** Characters that a header's name cannot have are written as percent signs with their code, as servers expect. */
function headerKey(key: string): string {
  return [...Buffer.from(key)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9!#$&'*+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
