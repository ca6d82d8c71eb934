/** Decides which fault a request gets. Pure but for its counts; the same seed and order of requests repeats it. */
import { matchesGlob } from '#nodeagent/simulated/settings/values.js';
import type { FaultMatch, FaultPlan, FaultRule } from '#testcluster/faults/rules.js';

/** The part of a request that rules match. */
export interface FaultRequest {
  readonly verb: string;
  /** Group on the wire; empty for core. */
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: string;
  readonly userAgent: string;
  /** The request asks for an upgrade of its connection. */
  readonly isUpgrade: boolean;
  /** The user is one of the cluster's own daemons, which only rules that name their user concern. */
  readonly isOwn: boolean;
}

export interface RuleCounts {
  /** Requests that matched. */
  matched: number;
  /** Faults. */
  injected: number;
}

interface RuleState extends RuleCounts {
  /** Each rule has its own, so that requests of one rule do not change the faults of another. */
  readonly random: () => number;
}

export class FaultDecider {
  readonly plan: FaultPlan;
  readonly #states: readonly RuleState[];

  /** `random`: returns numbers in [0, 1) that repeat with the seed. */
  constructor(plan: FaultPlan, random: (seed: number) => () => number) {
    this.plan = plan;
    this.#states = plan.rules.map((_, i) => ({ matched: 0, injected: 0, random: random(plan.seed + i * 7919) }));
  }

  /** The first rule that gives the request a fault; undefined: none does. */
  decide(request: FaultRequest): FaultRule | undefined {
    return this.plan.rules.find((rule, i) => {
      const state = this.#states[i];
      if (state === undefined || state.injected >= rule.count || !matches(rule, request)) return false;
      state.matched += 1;
      if (state.matched <= rule.skip) return false;
      if (rule.share < 1 && state.random() >= rule.share) return false;
      state.injected += 1;
      return true;
    });
  }

  /** In the order of the rules. */
  counts(): readonly (RuleCounts & { readonly name: string })[] {
    return this.plan.rules.map(({ name }, i) => {
      const { matched = 0, injected = 0 } = this.#states[i] ?? {};
      return { name, matched, injected };
    });
  }
}

function matches({ match, effect }: FaultRule, request: FaultRequest): boolean {
  if (effect.kind === 'watch' && request.verb !== 'watch') return false;
  if (effect.kind === 'stream' && !request.isUpgrade) return false;
  const { verbs, namespace, name, user, userAgent } = match;
  if (request.isOwn && (user === undefined || user === '*')) return false;
  return (
    (verbs === undefined || verbs.includes(request.verb)) &&
    (match.resources === undefined || match.resources.some((each) => matchesResource(each, request))) &&
    accepts(namespace, request.namespace) &&
    accepts(name, request.name) &&
    accepts(user, request.user) &&
    accepts(userAgent, request.userAgent)
  );
}

function accepts(pattern: FaultMatch['name'], text: string): boolean {
  return pattern === undefined || matchesGlob(pattern, text);
}

/** `pattern`: `pods`, `pods/status`, `pods/*`, `deployments.apps`, `*`, `*` + `.example.com`. */
function matchesResource(pattern: string, { group, resource, subresource }: FaultRequest): boolean {
  if (pattern === '*') return true;
  const [plural = '', sub = ''] = pattern.split('/', 2);
  const full = group === '' ? resource : `${resource}.${group}`;
  return (matchesGlob(plural, resource) || matchesGlob(plural, full)) && matchesGlob(sub, subresource);
}
