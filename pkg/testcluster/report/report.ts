/** The report of a test cluster as JSON. Pure. */
import { matchesGlob } from '#nodeagent/simulated/settings/values.js';
import { analyze, type Category, categories, type Finding, type Remainder } from '#testcluster/report/analyze.js';
import type { RequestLog } from '#testcluster/report/request-log.js';
import type { AgentTrack } from '#testcluster/report/tracks.js';

export interface RequestSummary {
  readonly verb: string;
  readonly resource: string;
  readonly count: number;
  /** By reason. */
  readonly errors: Readonly<Record<string, number>>;
}

export interface ClientSummary {
  readonly userAgent: string;
  readonly requests: number;
  readonly watches: number;
  /** Requests in a second of the cluster's clock and of the process's; undefined for no time. */
  readonly perClusterSecond?: number;
  readonly perSecond?: number;
  /** The most frequent first. */
  readonly byRequest: readonly RequestSummary[];
}

export interface Report {
  /** Times that the report covers. */
  readonly clusterSeconds: number;
  readonly seconds: number;
  readonly clients: readonly ClientSummary[];
  readonly findings: readonly Finding[];
  /** Number of findings by category; all categories. */
  readonly counts: Readonly<Record<Category, number>>;
  /** How often each rule of faults matched and acted. */
  readonly faults: readonly { readonly name: string; readonly matched: number; readonly injected: number }[];
  /** Categories of `failOn` with findings. */
  readonly failed: readonly Category[];
}

export interface ReportInput {
  readonly log: RequestLog;
  readonly remaining: ReadonlyMap<string, Remainder>;
  readonly clusterMs: number;
  readonly realMs: number;
  readonly faults: Report['faults'];
  /** User agents to report, with `*` for any characters. */
  readonly userAgent: string;
  readonly failOn: readonly Category[];
}

export function buildReport(input: ReportInput): Report {
  const { log, remaining, clusterMs, realMs, faults, userAgent, failOn } = input;
  const isMeant = (each: { readonly userAgent: string }) => matchesGlob(userAgent, each.userAgent);
  const findings = analyze(log, remaining).filter(isMeant);
  const counts = Object.fromEntries(
    categories.map((category) => [category, findings.filter((each) => each.category === category).length]),
  ) as Record<Category, number>;
  const agents = [...log.agents.entries()].map(([, agent]) => agent).filter(isMeant);
  return {
    clusterSeconds: Math.round(clusterMs) / 1000,
    seconds: Math.round(realMs) / 1000,
    clients: agents.sort((a, b) => b.requests - a.requests).map((agent) => clientOf(agent, clusterMs, realMs)),
    findings,
    counts,
    faults,
    failed: failOn.filter((category) => counts[category] > 0),
  };
}

function clientOf(
  { userAgent, requests, watches, byRequest }: AgentTrack,
  clusterMs: number,
  realMs: number,
): ClientSummary {
  const rate = (ms: number) => Math.round((requests / ms) * 1e6) / 1000;
  return {
    userAgent,
    requests,
    watches,
    ...(clusterMs > 0 ? { perClusterSecond: rate(clusterMs) } : {}),
    ...(realMs > 0 ? { perSecond: rate(realMs) } : {}),
    byRequest: [...byRequest.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ verb, resource, count, errors }) => ({ verb, resource, count, errors: Object.fromEntries(errors) })),
  };
}
