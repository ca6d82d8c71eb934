/**
 * Health checks and their endpoints: `/healthz`, `/livez`, `/readyz`, each with `?verbose`, `?exclude=name` and
 * `/<name>` for a single check. Texts as in release 1.24 (apiserver's server/healthz).
 */

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz';

export interface HealthCheck {
  /** Lower case with dashes, such as `informer-sync`. */
  readonly name: string;
  /** Throws or rejects if unhealthy. Must be quick. */
  readonly check: () => void | Promise<void>;
  /** Endpoints that include the check; absent: all. */
  readonly endpoints?: readonly HealthEndpoint[];
}

/** Checks that come and go, called for each request. Their names must be unique. */
export type HealthCheckSource = () => readonly HealthCheck[];

export interface HealthResponse {
  readonly status: 200 | 404 | 500;
  readonly body: string;
  /** Failed checks for the log; clients do not get the reasons. */
  readonly failures: readonly { readonly name: string; readonly error: unknown }[];
}

export class HealthChecks {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #sources: HealthCheckSource[] = [];

  /** Adds a `ping` check, which always succeeds. */
  constructor(checks: readonly (HealthCheck | HealthCheckSource)[] = []) {
    this.add({ name: 'ping', check: () => undefined });
    for (const check of checks) {
      if (typeof check === 'function') this.#sources.push(check);
      else this.add(check);
    }
  }

  /** Throws RangeError if the name is in use. */
  add(check: HealthCheck): void {
    if (this.#checks.has(check.name)) throw new RangeError(`health check ${JSON.stringify(check.name)} exists already`);
    this.#checks.set(check.name, check);
  }

  /** `name`: a single check, as in `/readyz/ping`. */
  async respond(endpoint: HealthEndpoint, query: URLSearchParams, name?: string): Promise<HealthResponse> {
    const all = [...this.#checks.values(), ...this.#sources.flatMap((source) => source())];
    const checks = all.filter((check) => check.endpoints?.includes(endpoint) ?? true);
    if (name !== undefined) return this.#single(checks, name);
    const excluded = new Set(query.getAll('exclude'));
    const failures: { name: string; error: unknown }[] = [];
    let text = '';
    for (const check of checks) {
      if (excluded.delete(check.name)) {
        text += `[+]${check.name} excluded: ok\n`;
        continue;
      }
      const error = await failureOf(check);
      if (error !== undefined) failures.push({ name: check.name, error });
      text += error === undefined ? `[+]${check.name} ok\n` : `[-]${check.name} failed: reason withheld\n`;
    }
    if (excluded.size > 0) {
      const names = [...excluded].map((item) => JSON.stringify(item)).join(', ');
      text += `warn: some health checks cannot be excluded: no matches for ${names}\n`;
    }
    if (failures.length > 0) return { status: 500, body: `${text}${endpoint} check failed\n`, failures };
    const verbose = query.has('verbose') ? `${text}${endpoint} check passed\n` : 'ok';
    return { status: 200, body: verbose, failures };
  }

  async #single(checks: readonly HealthCheck[], name: string): Promise<HealthResponse> {
    const check = checks.find((other) => other.name === name);
    if (check === undefined) return { status: 404, body: '404 page not found\n', failures: [] };
    const error = await failureOf(check);
    if (error === undefined) return { status: 200, body: 'ok', failures: [] };
    const failures = [{ name, error }];
    return { status: 500, body: 'internal server error: reason withheld\n', failures };
  }
}

/** The error of a failed check; undefined if healthy. */
async function failureOf(check: HealthCheck): Promise<unknown> {
  try {
    await check.check();
    return undefined;
  } catch (error) {
    return error ?? new Error('unknown');
  }
}
