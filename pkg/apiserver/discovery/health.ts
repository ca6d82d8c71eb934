/** `/healthz`, `/livez`, `/readyz`: named checks, one or all, with `?verbose` and `?exclude=NAME`. */

import { pathNotFound } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { Logger } from '#daemon/log/logger.js';
import { plainText } from '#http/server/exchange.js';

export interface HealthCheck {
  readonly name: string;
  /** Endpoints that include the check. */
  readonly endpoints: readonly HealthEndpoint[];
  /** Rejects with the reason of the failure. */
  check(signal: AbortSignal): Promise<void>;
}

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz';

const endpoints: readonly HealthEndpoint[] = ['healthz', 'livez', 'readyz'];

export class Health {
  readonly #checks: readonly HealthCheck[];
  readonly #log: Logger;

  constructor(checks: readonly HealthCheck[], log: Logger) {
    this.#checks = checks;
    this.#log = log;
  }

  /** Undefined for other paths. Throws 404 for a check that does not exist. */
  serve(context: RequestContext): Promise<ApiResponse> | undefined {
    const [root = '', ...steps] = context.info.segments;
    const endpoint = endpoints.find((candidate) => candidate === root);
    if (endpoint === undefined) return undefined;
    // Names may contain slashes.
    const name = steps.length === 0 ? undefined : steps.join('/');
    const checks = this.#checks.filter((check) => check.endpoints.includes(endpoint));
    if (name === undefined) return this.#all(context, endpoint, checks);
    const check = checks.find((candidate) => candidate.name === name);
    if (check === undefined) throw pathNotFound();
    return this.#one(context, check);
  }

  async #one(context: RequestContext, check: HealthCheck): Promise<ApiResponse> {
    const reason = await this.#run(context, check);
    return reason === undefined ? plainText(200, 'ok') : plainText(500, `internal server error: ${reason}\n`);
  }

  async #all(context: RequestContext, endpoint: HealthEndpoint, checks: readonly HealthCheck[]): Promise<ApiResponse> {
    const { query } = context.info;
    const excluded = new Set(query.getAll('exclude'));
    const run = async (check: HealthCheck) => (excluded.has(check.name) ? 'excluded' : this.#run(context, check));
    const results = await Promise.all(checks.map(async (check) => ({ name: check.name, reason: await run(check) })));
    const failed = results.filter(({ reason }) => reason !== undefined && reason !== 'excluded');
    const lines = results.map(({ name, reason }) => lineOf(name, reason));
    const unknown = [...excluded].filter((name) => !checks.some((check) => check.name === name));
    if (unknown.length > 0)
      lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted(unknown)}`);
    if (failed.length > 0) return plainText(500, `${lines.join('\n')}\n${endpoint} check failed\n`);
    return plainText(200, query.has('verbose') ? `${lines.join('\n')}\n${endpoint} check passed\n` : 'ok');
  }

  /** The failure as clients see it; the reason goes to the log only. */
  async #run(context: RequestContext, check: HealthCheck): Promise<string | undefined> {
    try {
      await check.check(context.signal);
      return undefined;
    } catch (err) {
      this.#log.warn({ err, check: check.name }, 'health check failed');
      return 'reason withheld';
    }
  }
}

function lineOf(name: string, reason: string | undefined): string {
  if (reason === 'excluded') return `[+]${name} excluded: ok`;
  return reason === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reason}`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(',');
}
