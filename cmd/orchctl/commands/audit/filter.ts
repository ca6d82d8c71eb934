/** Which events a search shows. Pure. */
import { parseTime } from '#apimachinery/clock.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';

/** The fields of an audit event that a search reads. A log comes from elsewhere, so each may be missing. */
export interface LoggedEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: string;
  /** Empty without impersonation. */
  readonly impersonated: string;
  readonly sourceIP: string;
  readonly userAgent: string;
  readonly resource: string;
  readonly apiGroup: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** 0: no response yet. */
  readonly code: number;
  /** Arrival of the request and time of the stage, ms; NaN if they are invalid. */
  readonly receivedMs: number;
  readonly stageMs: number;
}

export interface EventFilter {
  /** Only the last stage of each request. */
  readonly lastStage: boolean;
  /** Arrival of the request, ms. */
  readonly sinceMs: number;
  matches(event: LoggedEvent): boolean;
}

/** Throws UsageError. */
export function eventFilter(values: Values, nowMs: number): EventFilter {
  const sinceMs = Math.max(
    values.isSet('since') ? nowMs - values.number('since') : Number.NEGATIVE_INFINITY,
    timeOf(values, 'since-time') ?? Number.NEGATIVE_INFINITY,
  );
  const untilMs = timeOf(values, 'until-time') ?? Number.POSITIVE_INFINITY;
  const timed = values.isSet('since') || values.isSet('since-time') || values.isSet('until-time');
  const checks: ((event: LoggedEvent) => boolean)[] = [];
  if (timed) checks.push(({ receivedMs }) => receivedMs >= sinceMs && receivedMs < untilMs);
  const anyOf = (name: string, check: (pattern: string) => (event: LoggedEvent) => boolean) => {
    const patterns = values.strings(name).map(check);
    if (patterns.length > 0) checks.push((event) => patterns.some((pattern) => pattern(event)));
  };
  anyOf('object', objectCheck);
  const namespace = values.string('namespace');
  if (namespace !== undefined) checks.push((event) => event.namespace === namespace);
  anyOf('subresource', (text) => (event) => event.subresource === text);
  anyOf('path', (text) => pathCheck(text));
  anyOf('user', (text) => {
    const matches = wildcard(text);
    return ({ user, impersonated }) => matches(user) || (impersonated !== '' && matches(impersonated));
  });
  anyOf('verb', (text) => (event) => event.verb === text.toLowerCase());
  anyOf('code', codeCheck);
  anyOf('id', (text) => (event) => event.auditID === text);
  return {
    lastStage: !values.bool('all-stages'),
    sinceMs,
    matches: (event) => checks.every((check) => check(event)),
  };
}

function timeOf(values: Values, option: string): number | undefined {
  const text = values.string(option);
  if (text === undefined) return undefined;
  const ms = parseTime(text);
  if (Number.isNaN(ms)) throw new UsageError(`--${option}: "${text}" is not a time such as 2022-05-03T08:00:00Z`);
  return ms;
}

/** `*` stands for any characters. */
function wildcard(pattern: string): (text: string) => boolean {
  if (!pattern.includes('*')) return (text) => text === pattern;
  const parts = pattern.split('*');
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  const middle = parts.slice(1, -1);
  return (text) => {
    if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
    let at = first.length;
    for (const part of middle) {
      const next = text.indexOf(part, at);
      if (next < 0) return false;
      at = next + part.length;
    }
    return at <= text.length - last.length;
  };
}

/** `TYPE`, `TYPE.GROUP`, with `/NAME`. */
function objectCheck(text: string): (event: LoggedEvent) => boolean {
  const slash = text.indexOf('/');
  const type = (slash < 0 ? text : text.slice(0, slash)).toLowerCase();
  const matchesName = slash < 0 ? () => true : wildcard(text.slice(slash + 1));
  const dot = type.indexOf('.');
  const matchesResource = wildcard(dot < 0 ? type : type.slice(0, dot));
  const group = dot < 0 ? undefined : type.slice(dot + 1);
  return ({ resource, apiGroup, name }) =>
    resource !== '' && matchesResource(resource) && (group === undefined || apiGroup === group) && matchesName(name);
}

function pathCheck(text: string): (event: LoggedEvent) => boolean {
  const matches = wildcard(text);
  return ({ requestURI }) => matches(requestURI.split('?', 1)[0] ?? '');
}

function codeCheck(text: string): (event: LoggedEvent) => boolean {
  const [, digit] = /^([1-5])xx$/i.exec(text) ?? [];
  if (digit !== undefined) return ({ code }) => Math.floor(code / 100) === Number(digit);
  const [, from, to = from] = /^(\d{3})(?:-(\d{3}))?$/.exec(text) ?? [];
  if (from === undefined) throw new UsageError(`--code: "${text}" is none of 403, 4xx and 400-499`);
  return ({ code }) => code >= Number(from) && code <= Number(to);
}
