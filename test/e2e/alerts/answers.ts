/** Queries of a Prometheus. */
import { realClock } from '#apimachinery/clock.js';
import { eventually } from '#test/e2e/harness.js';

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface Target {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: string;
  readonly lastError: string;
  readonly scrapeUrl: string;
}

interface EvaluatedRule {
  readonly name: string;
  /** `ok`, `unknown` before the first time, or `err`. */
  readonly health: string;
  readonly lastError?: string;
  /** Of an alert: `inactive`, `pending` or `firing`. */
  readonly state?: string;
}

interface Alert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A missed scrape on a busy machine restarts the wait of an alert, so this is several times its minute; ms. */
const patienceMs = 180_000;
/** Concurrent waits for alerts share answers up to this age; ms. */
const freshMs = 500;

export class Answers {
  readonly #server: string;
  #lastQuery: { readonly atMs: number; readonly firing: Promise<ReadonlySet<string>> } | undefined;

  /** `address`: host and port. */
  constructor(address: string) {
    this.#server = `http://${address}/api/v1`;
  }

  async query(query: string): Promise<readonly Series[]> {
    return (await this.#get<{ result: readonly Series[] }>(`query?query=${encodeURIComponent(query)}`)).result;
  }

  async targets(): Promise<readonly Target[]> {
    return (await this.#get<{ activeTargets: readonly Target[] }>('targets?state=active')).activeTargets;
  }

  async rules(): Promise<readonly EvaluatedRule[]> {
    const { groups } = await this.#get<{ groups: { rules: readonly EvaluatedRule[] }[] }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  /** Resolves when all of the alerts, `name` or `name/severity`, fire. */
  async fires(alerts: readonly string[], timeoutMs = patienceMs): Promise<void> {
    await this.#until('fire', timeoutMs, (firing) => alerts.filter((alert) => !firing.has(alert)), alerts);
  }

  /** Resolves when none of them fires. */
  async end(alerts: readonly string[], timeoutMs = patienceMs): Promise<void> {
    await this.#until('end', timeoutMs, (firing) => alerts.filter((alert) => firing.has(alert)), alerts);
  }

  async #until(
    what: string,
    timeoutMs: number,
    missing: (firing: ReadonlySet<string>) => readonly string[],
    alerts: readonly string[],
  ): Promise<void> {
    await eventually(
      `${alerts.join(', ')} ${what}`,
      async () => {
        const left = missing(await this.#firing());
        if (left.length === 0) return true;
        throw new Error(`not yet: ${left.join(', ')}`);
      },
      timeoutMs,
    );
  }

  #firing(): Promise<ReadonlySet<string>> {
    const now = realClock.monotonic();
    if (this.#lastQuery === undefined || now - this.#lastQuery.atMs > freshMs)
      this.#lastQuery = { atMs: now, firing: this.#askForAlerts() };
    return this.#lastQuery.firing;
  }

  /** Throws when Prometheus could not expand the texts of an alert. */
  async #askForAlerts(): Promise<ReadonlySet<string>> {
    const { alerts } = await this.#get<{ alerts: readonly Alert[] }>('alerts');
    const wrong = alerts.filter(({ annotations }) => /<no value>|error expanding/.test(JSON.stringify(annotations)));
    if (wrong.length > 0) throw new Error(`texts of alerts: ${JSON.stringify(wrong)}`);
    const firing = alerts.filter(({ state }) => state === 'firing');
    return new Set(
      firing.flatMap(({ labels: { alertname = '', severity } }) => [alertname, `${alertname}/${severity}`]),
    );
  }

  async #get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.#server}/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  }
}
