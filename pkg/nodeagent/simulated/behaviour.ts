/**
 * Annotations that control simulated pods: `simulation.<label domain>/<name>`, or `simulation.<label
 * domain>/<name>.<container>` for one container:
 *
 * | name | value | effect |
 * |---|---|---|
 * | `sandbox-latency` | duration | the sandbox takes this long to start |
 * | `sandbox-failure` | message | the sandbox does not start |
 * | `pull-latency` | duration | pulling its images takes this long |
 * | `pull-failure` | message | pulling its images fails |
 * | `create-failure` | message | the container cannot be created |
 * | `start-latency` | duration | the container takes this long to start |
 * | `start-failure` | message | the container cannot be started |
 * | `exit-after` | duration | the container exits this long after its start |
 * | `exit-code` | 0–255 | … with this code (default 0) |
 * | `exit-reason` | text | … with this reason, such as `OOMKilled` |
 * | `stop-latency` | duration | the container takes this long to end after SIGTERM; `never` waits for SIGKILL |
 * | `ready-after` | duration | probes fail until this long after the start |
 * | `unready-after` | duration | probes fail from this long after the start |
 * | `log-every` | duration | the container writes a line this often |
 *
 * Durations are Go's (`1.5s`, `200ms`, `2m`).
 */

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a Go duration; undefined if invalid. */
function parseDuration(text: string): number | undefined {
  if (!/^([0-9]+(\.[0-9]*)?(ns|us|\u00b5s|ms|s|m|h))+$/.test(text)) return text === '0' ? 0 : undefined;
  let total = 0;
  for (const [, amount = '0', unit = 's'] of text.matchAll(/([0-9.]+)(ns|us|\u00b5s|ms|s|m|h)/g)) {
    total += Number(amount) * (units[unit] ?? 0);
  }
  return total;
}

export class Behaviour {
  readonly #annotations: Readonly<Record<string, string>>;
  readonly #prefix: string;

  constructor(annotations: Readonly<Record<string, string>>, labelDomain: string) {
    this.#annotations = annotations;
    this.#prefix = `simulation.${labelDomain}/`;
  }

  text(name: string, container?: string): string | undefined {
    const specific = container === undefined ? undefined : this.#annotations[`${this.#prefix}${name}.${container}`];
    return specific ?? this.#annotations[`${this.#prefix}${name}`];
  }

  /** Milliseconds; undefined if absent or invalid. */
  duration(name: string, container?: string): number | undefined {
    const text = this.text(name, container);
    return text === undefined ? undefined : parseDuration(text);
  }
}
