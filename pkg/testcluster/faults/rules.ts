/**
 * Rules of faults, as a client or a file gives them:
 *
 *     seed: 7
 *     rules:
 *     - name: conflicts
 *       match: { verbs: [update, patch], resources: [deployments.apps, pods/status], namespace: shop, name: 'web-*',
 *                user: 'system:serviceaccount:shop:*', userAgent: 'operator/*' }
 *       share: 0.3
 *       skip: 2
 *       count: 10
 *       answer: { code: 409, retryAfter: 2s, message: busy, applied: true }
 *       latency: 2s
 *
 * A rule does one of: `answer` with an error, `reset` of the connection, `watch` faults, or `stream` faults of upgraded connections
 * (exec, attach, port-forward); `latency` may come first, or alone.
 */

import { parseYAML } from '#apimachinery/codec/yaml.js';
import { DurationError, parseDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';

/** What one rule matches. Absent: everything; texts may have `*` for any characters. */
export interface FaultMatch {
  readonly verbs: readonly string[] | undefined;
  /** `pods`, `pods/status`, `deployments.apps`, `*`; without a subresource only requests without one. */
  readonly resources: readonly string[] | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly user: string | undefined;
  readonly userAgent: string | undefined;
}

export interface ErrorAnswer {
  readonly kind: 'answer';
  readonly code: FaultCode;
  readonly message: string | undefined;
  /** Seconds; undefined: that of the code. */
  readonly retryAfterSeconds: number | undefined;
  /** The request is carried out before its answer is replaced. */
  readonly applied: boolean;
}

export interface Reset {
  readonly kind: 'reset';
  readonly applied: boolean;
}

export interface WatchFaults {
  readonly kind: 'watch';
  /** Ends the watch after this many events; undefined: does not. */
  readonly cutAfterEvents: number | undefined;
  /** Ends the watch after this time. */
  readonly cutAfterMs: number | undefined;
  /** The end says that the version is too old (410), instead of nothing. */
  readonly expired: boolean;
  readonly dropBookmarks: boolean;
  /** Every event arrives this much later: caches of the client are stale. */
  readonly delayMs: number;
}

/** What happens to an upgraded connection. */
export interface StreamFaults {
  readonly kind: 'stream';
  /** The connection breaks off after so many bytes to the client, frames of its protocol included. */
  readonly cutAfterBytes: number | undefined;
  /** … this long after the upgrade. */
  readonly cutAfterMs: number | undefined;
}

export interface Latency {
  readonly kind: 'latency';
}

export type FaultEffect = ErrorAnswer | Reset | WatchFaults | StreamFaults | Latency;

export interface FaultRule {
  readonly name: string;
  readonly match: FaultMatch;
  /** Probability of each matching request. */
  readonly share: number;
  /** Matching requests before the first fault. */
  readonly skip: number;
  /** Most faults; infinite without a limit. */
  readonly count: number;
  readonly latencyMs: number;
  readonly effect: FaultEffect;
}

export interface FaultPlan {
  readonly seed: number;
  readonly rules: readonly FaultRule[];
}

/** The faults of a plan, one a line. */
export class FaultPlanError extends Error {
  override readonly name = 'FaultPlanError';
}

const faultCodes = [409, 410, 429, 500, 503, 504] as const;
export type FaultCode = (typeof faultCodes)[number];

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const maxRules = 200;
const maxLatencyMs = 3_600_000;

/** Throws FaultPlanError with all faults. `given`: YAML or JSON text, or its value. */
export function parseFaultPlan(given: unknown): FaultPlan {
  const reader = new PlanReader();
  const plan = reader.plan(typeof given === 'string' ? yaml(given) : given);
  if (reader.faults.length > 0) throw new FaultPlanError(reader.faults.join('\n'));
  return plan;
}

function yaml(text: string): unknown {
  try {
    return parseYAML(text);
  } catch (error) {
    throw new FaultPlanError(messageOf(error));
  }
}

type Members = Readonly<Record<string, unknown>>;

class PlanReader {
  readonly faults: string[] = [];

  plan(value: unknown): FaultPlan {
    const members = Array.isArray(value) ? { rules: value } : this.#members(value, 'the plan', ['seed', 'rules']);
    const { rules = [], seed } = members;
    if (!Array.isArray(rules)) this.faults.push('rules: not a list');
    const list: readonly unknown[] = Array.isArray(rules) ? rules : [];
    if (list.length > maxRules) this.faults.push(`rules: at most ${maxRules} are possible`);
    return {
      seed: this.#number(seed, 'seed', { least: 0, most: 2 ** 32 - 1, whole: true }) ?? 1,
      rules: list.slice(0, maxRules).map((rule, i) => this.#rule(rule, i)),
    };
  }

  #rule(value: unknown, index: number): FaultRule {
    const at = `rules[${index}]`;
    const rule = this.#members(value, at, [
      ...['name', 'match', 'share', 'skip', 'count', 'latency', 'answer', 'reset', 'watch', 'stream'],
    ]);
    const latencyMs = this.#duration(rule['latency'], `${at}.latency`) ?? 0;
    const match = this.#match(rule['match'], `${at}.match`);
    return {
      name: this.#text(rule['name'], `${at}.name`) ?? `rule-${index + 1}`,
      match,
      share: this.#number(rule['share'], `${at}.share`, { least: 0, most: 1 }) ?? 1,
      skip: this.#number(rule['skip'], `${at}.skip`, { least: 0, most: 1e9, whole: true }) ?? 0,
      count: this.#number(rule['count'], `${at}.count`, { least: 0, most: 1e9, whole: true }) ?? Infinity,
      latencyMs,
      effect: this.#effect(rule, { at, latencyMs, match }),
    };
  }

  #effect(rule: Members, { at, latencyMs, match }: { at: string; latencyMs: number; match: FaultMatch }): FaultEffect {
    const effects = ['answer', 'reset', 'watch', 'stream'].filter((name) => rule[name] !== undefined);
    if (effects.length > 1) this.faults.push(`${at}: has ${effects.join(' and ')}; a rule has one of them`);
    if (rule['answer'] !== undefined) return this.#answer(rule['answer'], `${at}.answer`);
    if (rule['reset'] !== undefined) return this.#reset(rule['reset'], `${at}.reset`);
    if (rule['watch'] !== undefined) {
      if (match.verbs?.some((verb) => verb !== 'watch') === true)
        this.faults.push(`${at}.match.verbs: watch faults are only of the verb watch`);
      return this.#watch(rule['watch'], `${at}.watch`);
    }
    if (rule['stream'] !== undefined) return this.#stream(rule['stream'], `${at}.stream`);
    if (latencyMs === 0) this.faults.push(`${at}: does nothing; give answer, reset, watch, stream or latency`);
    return { kind: 'latency' };
  }

  #match(value: unknown, at: string): FaultMatch {
    const names = ['verbs', 'resources', 'namespace', 'name', 'user', 'userAgent'];
    const match = this.#members(value ?? {}, at, names);
    const given = this.#texts(match['verbs'], `${at}.verbs`);
    for (const verb of given ?? [])
      if (!verbs.includes(verb))
        this.faults.push(`${at}.verbs: ${JSON.stringify(verb)} is none of ${verbs.join(', ')}`);
    return {
      verbs: given,
      resources: this.#texts(match['resources'], `${at}.resources`),
      namespace: this.#text(match['namespace'], `${at}.namespace`),
      name: this.#text(match['name'], `${at}.name`),
      user: this.#text(match['user'], `${at}.user`),
      userAgent: this.#text(match['userAgent'], `${at}.userAgent`),
    };
  }

  #answer(value: unknown, at: string): ErrorAnswer {
    const answer =
      typeof value === 'number'
        ? { code: value }
        : this.#members(value, at, ['code', 'message', 'retryAfter', 'applied']);
    const { code: given } = answer;
    const code = faultCodes.find((each) => each === given);
    if (code === undefined)
      this.faults.push(`${at}.code: ${JSON.stringify(given) ?? 'missing'} is none of ${faultCodes.join(', ')}`);
    const members: Members = answer;
    const ms = this.#duration(members['retryAfter'], `${at}.retryAfter`);
    return {
      kind: 'answer',
      code: code ?? 500,
      message: this.#text(members['message'], `${at}.message`),
      retryAfterSeconds: ms === undefined ? undefined : Math.ceil(ms / 1000),
      applied: this.#flag(members['applied'], `${at}.applied`),
    };
  }

  #reset(value: unknown, at: string): Reset {
    if (typeof value === 'boolean') {
      if (!value) this.faults.push(`${at}: false does nothing`);
      return { kind: 'reset', applied: false };
    }
    const reset = this.#members(value, at, ['applied']);
    return { kind: 'reset', applied: this.#flag(reset['applied'], `${at}.applied`) };
  }

  #watch(value: unknown, at: string): WatchFaults {
    const watch = this.#members(value, at, ['cutAfterEvents', 'cutAfter', 'expired', 'dropBookmarks', 'delay']);
    const faults: WatchFaults = {
      kind: 'watch',
      cutAfterEvents: this.#number(watch['cutAfterEvents'], `${at}.cutAfterEvents`, {
        least: 0,
        most: 1e9,
        whole: true,
      }),
      cutAfterMs: this.#duration(watch['cutAfter'], `${at}.cutAfter`),
      expired: this.#flag(watch['expired'], `${at}.expired`),
      dropBookmarks: this.#flag(watch['dropBookmarks'], `${at}.dropBookmarks`),
      delayMs: this.#duration(watch['delay'], `${at}.delay`) ?? 0,
    };
    const { cutAfterEvents, cutAfterMs, expired, dropBookmarks, delayMs } = faults;
    if (cutAfterEvents === undefined && cutAfterMs === undefined && !expired && !dropBookmarks && delayMs === 0)
      this.faults.push(`${at}: does nothing; give cutAfterEvents, cutAfter, expired, dropBookmarks or delay`);
    return faults;
  }

  #stream(value: unknown, at: string): StreamFaults {
    const stream = this.#members(value, at, ['cutAfterBytes', 'cutAfter']);
    const bytes = { least: 0, most: 1e12, whole: true } as const;
    const cutAfterBytes = this.#number(stream['cutAfterBytes'], `${at}.cutAfterBytes`, bytes);
    const cutAfterMs = this.#duration(stream['cutAfter'], `${at}.cutAfter`);
    if (cutAfterBytes === undefined && cutAfterMs === undefined)
      this.faults.push(`${at}: does nothing; give cutAfterBytes or cutAfter`);
    return { kind: 'stream', cutAfterBytes, cutAfterMs };
  }

  #members(value: unknown, at: string, names: readonly string[]): Members {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.faults.push(`${at}: a map of ${names.join(', ')} is expected`);
      return {};
    }
    for (const name of Object.keys(value)) if (!names.includes(name)) this.faults.push(`${at}.${name}: unknown field`);
    return value as Members;
  }

  #text(value: unknown, at: string): string | undefined {
    if (value === undefined || typeof value === 'string') return value;
    this.faults.push(`${at}: not a text`);
    return undefined;
  }

  #texts(value: unknown, at: string): readonly string[] | undefined {
    if (value === undefined) return undefined;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    return list.map((each, i) => this.#text(each, `${at}[${i}]`) ?? '');
  }

  #flag(value: unknown, at: string): boolean {
    if (value !== undefined && typeof value !== 'boolean') this.faults.push(`${at}: not true or false`);
    return value === true;
  }

  #number(value: unknown, at: string, limits: { least: number; most: number; whole?: true }): number | undefined {
    if (value === undefined) return undefined;
    const { least, most, whole } = limits;
    if (typeof value === 'number' && value >= least && value <= most && (whole !== true || Number.isInteger(value)))
      return value;
    this.faults.push(`${at}: not a ${whole === true ? 'whole ' : ''}number from ${least} to ${most}`);
    return undefined;
  }

  #duration(value: unknown, at: string): number | undefined {
    if (value === undefined) return undefined;
    try {
      const ms = parseDuration(String(value));
      if (ms >= 0 && ms <= maxLatencyMs) return ms;
    } catch (error) {
      if (!(error instanceof DurationError)) throw error;
    }
    this.faults.push(`${at}: not a duration such as 1.5s, of at most an hour`);
    return undefined;
  }
}
