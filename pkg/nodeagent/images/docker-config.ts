/**
 * Registry credentials from the node's own docker configuration, in the locations of release 1.24: `config.json` in the
 * agent's directory, the working directory, `$HOME/.docker` and `/.docker`; else the old `.dockercfg` in the agent's
 * directory, the working directory, `$HOME` and `/`. The first readable file counts.
 */

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { isPlain, type Plain } from '#daemon/options/config-decode.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import { matchingEntries, registryKey, repositoryOf } from '#nodeagent/images/registry-match.js';

export interface Credential {
  /** The registry; see `registryKey`. */
  readonly key: string;
  readonly value: ImageAuth;
}

/** Registry entries of `config.json` (`json`) or of the older `.dockercfg` (`cfg`). Throws SyntaxError for bad JSON. */
export function parseDockerConfig(text: string, format: 'json' | 'cfg'): Plain {
  const config: unknown = JSON.parse(text === '' ? '{}' : text);
  const entries = format === 'cfg' ? config : isPlain(config) ? config['auths'] : undefined;
  return isPlain(entries) ? entries : {};
}

/** Skips entries without credentials. */
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

export interface DockerConfigOptions {
  /** The agent's directory. */
  readonly rootDir: string;
  /** `$HOME`. */
  readonly homeDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** A file's text; undefined if it does not exist. */
  readonly read: (path: string) => Promise<string | undefined>;
}

/** How long credentials are cached, as in 1.24. */
const cacheMs = 300_000;
const maxBytes = 1024 * 1024;

/** A regular file's text, following links; undefined if there is none. Rejects if it is too large. */
export async function readDockerConfig(path: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    // Opening a pipe without a writer would block.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return undefined;
    if (stat.size > maxBytes) throw new Error(`larger than ${maxBytes} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

export class DockerConfig {
  readonly #options: DockerConfigOptions;
  #cache: { readonly credentials: Promise<readonly Credential[]>; readonly until: number } | undefined;

  constructor(options: DockerConfigOptions) {
    this.#options = options;
  }

  /** Credentials for an image, the most specific registry first. Never rejects. */
  async credentials(image: string): Promise<ImageAuth[]> {
    const now = this.#options.clock.monotonic();
    if (this.#cache === undefined || this.#cache.until <= now)
      this.#cache = { credentials: this.#find(), until: now + cacheMs };
    return matchingEntries(await this.#cache.credentials, repositoryOf(image));
  }

  async #find(): Promise<readonly Credential[]> {
    const { rootDir, homeDir, read, log } = this.#options;
    const working = resolve('.');
    const files = [
      ...[rootDir, working, join(homeDir, '.docker'), '/.docker'].map(
        (dir) => [join(dir, 'config.json'), 'json'] as const,
      ),
      ...[rootDir, working, homeDir, '/'].map((dir) => [join(dir, '.dockercfg'), 'cfg'] as const),
    ];
    for (const [path, format] of files) {
      try {
        const text = await read(path);
        if (text !== undefined) return credentialsOf(parseDockerConfig(text, format));
      } catch (error) {
        // Do not log the error itself: it may quote the file.
        log.warn(
          { path, problem: error instanceof SyntaxError ? 'not JSON' : messageOf(error) },
          'failed to read the docker configuration',
        );
      }
    }
    return [];
  }
}
