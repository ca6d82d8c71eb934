/** Registry credentials from credential provider plugins: matching, running, caching (KEP-2133, release 1.24). */
import type { Clock } from '#apimachinery/clock.js';
import { DurationError, parseDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { isPlain } from '#daemon/options/config-decode.js';
import type { ImageAuth } from '#nodeagent/cri/cri.js';
import type { CredentialProvider } from '#nodeagent/images/provider-config.js';
import { matchesRegistry, matchingEntries, registryKey, repositoryOf } from '#nodeagent/images/registry-match.js';
import { type ChildResult, runChild } from '#nodeagent/processes/child.js';

/** Runs a plugin with the request as its standard input; resolves with its output. */
export type RunPlugin = (provider: CredentialProvider, request: string) => Promise<string>;

type Entries = readonly { readonly key: string; readonly value: ImageAuth }[];

interface Answer {
  readonly entries: Entries;
  readonly cacheKey: string;
  readonly cacheMs: number;
}

const timeLimitMs = 60_000;
const maxOutputBytes = 1024 * 1024;
/** Limit of plugin output quoted in messages. */
const maxShown = 200;
/** Cached responses per provider; the oldest is dropped first. */
const maxCached = 1000;

/** Plugins may run for a minute and write a megabyte; they get the agent's environment plus the provider's. */
export const runPlugin: RunPlugin = pluginRunner(timeLimitMs);

/** `timeout`: milliseconds until a plugin is killed. */
export function pluginRunner(timeout: number): RunPlugin {
  return async ({ path, args, env }, request) => {
    const signal = AbortSignal.timeout(timeout);
    const options = { signal, input: request, maxBytes: maxOutputBytes, endsWhenFull: true };
    let result: ChildResult;
    try {
      result = await runChild(path, args, { ...options, env: { ...process.env, ...env } });
    } catch (error) {
      if (signal.aborted) throw new Error(`${path} did not answer in time`);
      throw error;
    }
    const { code, killedBy, stdout, stderr, isCut } = result;
    if (isCut) throw new Error(`${path} printed too much output`);
    if (code === 0) return stdout.toString();
    const how = code === null ? `signal: ${killedBy}` : `exit status ${code}`;
    throw new Error(`${path} failed, ${how}: ${stderr.toString().slice(0, maxShown)}`);
  };
}

/** Possible cache keys of a response, in lookup order. */
function cacheKeys(repository: string): Readonly<Record<string, string>> {
  return { Image: `image ${repository}`, Registry: `registry ${repository.split('/')[0]}`, Global: 'global' };
}

/** Throws an Error that does not quote the text, which may contain passwords. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the answer is not JSON');
  }
}

/** Throws Error or DurationError for an invalid response. */
function parseAnswer(text: string, provider: CredentialProvider, repository: string): Answer {
  const response = parsed(text);
  if (!isPlain(response)) throw new Error('the answer is not an object');
  if (response['kind'] !== 'CredentialProviderResponse' || response['apiVersion'] !== provider.apiVersion) {
    const actual = JSON.stringify([response['apiVersion'], response['kind']]).slice(0, maxShown);
    throw new Error(`the answer must be a CredentialProviderResponse of ${provider.apiVersion}, not ${actual}`);
  }
  const keyType = response['cacheKeyType'];
  const keys = cacheKeys(repository);
  const cacheKey = typeof keyType === 'string' && Object.hasOwn(keys, keyType) ? keys[keyType] : undefined;
  if (cacheKey === undefined)
    throw new Error(`the answer's cacheKeyType ${String(JSON.stringify(keyType)).slice(0, maxShown)} is not known`);
  const duration = response['cacheDuration'] ?? undefined;
  if (duration !== undefined && typeof duration !== 'string') throw new DurationError('cacheDuration must be a string');
  const auth = response['auth'] ?? {};
  if (!isPlain(auth)) throw new Error("the answer's auth is not an object");
  const entries = Object.entries(auth).map(([registry, entry]) => {
    const { username, password } = isPlain(entry) ? entry : {};
    if (typeof username !== 'string' || typeof password !== 'string') {
      throw new Error(`the answer's auth of ${JSON.stringify(registry.slice(0, maxShown))} lacks username or password`);
    }
    return { key: registryKey(registry), value: { username, password } };
  });
  return { entries, cacheKey, cacheMs: duration === undefined ? provider.defaultCacheMs : parseDuration(duration) };
}

class Plugin {
  readonly #provider: CredentialProvider;
  readonly #options: CredentialProvidersOptions;
  /** Cache key → entries, and their expiry (monotonic ms). */
  readonly #cache = new Map<string, { readonly entries: Entries; readonly until: number }>();
  /** Repository → running query. */
  readonly #running = new Map<string, Promise<Entries>>();

  constructor(provider: CredentialProvider, options: CredentialProvidersOptions) {
    this.#provider = provider;
    this.#options = options;
  }

  /** Entries for the repository; on failure none, and the error is logged. */
  async provide(repository: string): Promise<Entries> {
    if (!this.#provider.matchImages.some((entry) => matchesRegistry(entry, repository))) return [];
    const cached = this.#cached(repository);
    if (cached !== undefined) return cached;
    const running = this.#running.get(repository) ?? this.#query(repository);
    this.#running.set(repository, running);
    try {
      return await running;
    } catch (error) {
      const fields = { plugin: this.#provider.name, image: repository };
      this.#options.log.error({ err: error, ...fields }, 'credential provider failed');
      return [];
    } finally {
      this.#running.delete(repository);
    }
  }

  #cached(repository: string): Entries | undefined {
    const now = this.#options.clock.monotonic();
    for (const key of Object.values(cacheKeys(repository))) {
      const cachedEntry = this.#cache.get(key);
      if (cachedEntry !== undefined && cachedEntry.until > now) return cachedEntry.entries;
      this.#cache.delete(key);
    }
    return undefined;
  }

  async #query(repository: string): Promise<Entries> {
    const { run, clock } = this.#options;
    const { apiVersion } = this.#provider;
    const request = JSON.stringify({ kind: 'CredentialProviderRequest', apiVersion, image: repository });
    let response: Answer;
    try {
      response = parseAnswer(await run(this.#provider, request), this.#provider, repository);
    } catch (error) {
      const prefix = `error execing credential provider plugin ${this.#provider.name} for image ${repository}`;
      throw new Error(`${prefix}: ${messageOf(error)}`, { cause: error });
    }
    if (response.cacheMs > 0) {
      this.#cache.delete(response.cacheKey);
      this.#cache.set(response.cacheKey, { entries: response.entries, until: clock.monotonic() + response.cacheMs });
      const [oldest] = this.#cache.keys();
      if (this.#cache.size > maxCached && oldest !== undefined) this.#cache.delete(oldest);
    }
    return response.entries;
  }
}

export interface CredentialProvidersOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly run: RunPlugin;
}

export class CredentialProviders {
  readonly #plugins: readonly Plugin[];

  constructor(providers: readonly CredentialProvider[], options: CredentialProvidersOptions) {
    this.#plugins = providers.map((provider) => new Plugin(provider, options));
  }

  /** Credentials for an image, the most specific first; for equal registries in the order of the providers. */
  async credentials(image: string): Promise<ImageAuth[]> {
    const repository = repositoryOf(image);
    const entries = await Promise.all(this.#plugins.map((plugin) => plugin.provide(repository)));
    return matchingEntries(entries.flat(), repository);
  }
}
