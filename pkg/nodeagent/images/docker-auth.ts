/** Registry credentials in the formats of docker's configuration, which pull secrets and nodes share. */
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import { registryKey } from '#nodeagent/images/registry-match.js';

export interface Credential {
  /** Of the registry; see `registryKey`. */
  readonly key: string;
  readonly value: ImageAuth;
}

/** The entries by registry of `config.json` (`json`) or of the older `.dockercfg` (`cfg`). Throws SyntaxError for what is not JSON. */
export function parseDockerConfig(text: string, format: 'json' | 'cfg'): Plain {
  const config: unknown = JSON.parse(text === '' ? '{}' : text);
  const entries = format === 'cfg' ? config : isPlain(config) ? config['auths'] : undefined;
  return isPlain(entries) ? entries : {};
}

/** Entries that hold no credential are left out. */
export function credentialsOf(entries: Plain): Credential[] {
  return Object.entries(entries).flatMap(([registry, entry]) => {
    const value = toAuth(entry);
    return value === undefined ? [] : [{ key: registryKey(registry), value }];
  });
}

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
