/** One event of the audit log: the state of a request at one of its stages. Pure. */
import { formatMicroTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Status } from '#apimachinery/errors/status.js';
import type { Level, Stage } from '#apiserver/audit/policy.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface ObjectReference {
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiGroup?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly subresource?: string;
}

export interface EventFacts {
  readonly level: Level;
  readonly auditID: string;
  readonly stage: Stage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: UserInfo | undefined;
  readonly impersonatedUser: UserInfo | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  readonly objectRef: ObjectReference | undefined;
  readonly responseStatus: Status | undefined;
  /** The request's object as one line of JSON. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
  readonly receivedMs: number;
  readonly stageMs: number;
  readonly annotations: Readonly<Record<string, string>>;
}

export function auditVersion(dialect: Dialect): string {
  return `audit.${dialect.apiDomain}/v1`;
}

export class AuditEvent {
  readonly facts: EventFacts;
  readonly #apiVersion: string;
  #text: string | undefined;

  constructor(apiVersion: string, facts: EventFacts) {
    this.#apiVersion = apiVersion;
    this.facts = facts;
  }

  /** One line of JSON, its members in the order of 1.24; encoded once for all sinks. */
  get text(): string {
    this.#text ??= this.#json();
    return this.#text;
  }

  /** The event without its objects, and with the annotation `note`. */
  withoutObjects(note: string): AuditEvent {
    const annotations = { ...this.facts.annotations, [note]: 'true' };
    return new AuditEvent(this.#apiVersion, {
      ...this.facts,
      requestObject: undefined,
      responseObject: undefined,
      annotations,
    });
  }

  #json(): string {
    const { facts } = this;
    const head = JSON.stringify({
      kind: 'Event',
      apiVersion: this.#apiVersion,
      level: facts.level,
      auditID: facts.auditID,
      stage: facts.stage,
      requestURI: facts.requestURI,
      verb: facts.verb,
      user: shownUser(facts.user),
      impersonatedUser: facts.impersonatedUser && shownUser(facts.impersonatedUser),
      sourceIPs: facts.sourceIPs.length > 0 ? facts.sourceIPs : undefined,
      userAgent: facts.userAgent === '' ? undefined : facts.userAgent,
      objectRef: facts.objectRef,
      responseStatus: facts.responseStatus,
    }).slice(0, -1);
    const request = facts.requestObject === undefined ? '' : `,"requestObject":${facts.requestObject}`;
    const response = facts.responseObject === undefined ? '' : `,"responseObject":${facts.responseObject}`;
    const { annotations } = facts;
    const tail = JSON.stringify({
      requestReceivedTimestamp: formatMicroTime(facts.receivedMs),
      stageTimestamp: formatMicroTime(facts.stageMs),
      annotations: Object.keys(annotations).length > 0 ? annotations : undefined,
    });
    return `${head}${request}${response},${tail.slice(1)}`;
  }
}

function shownUser(user: UserInfo | undefined): object {
  if (user === undefined) return {};
  const { name: username, uid, groups, extra } = user;
  return {
    username,
    uid: uid === '' ? undefined : uid,
    groups: groups.length > 0 ? groups : undefined,
    extra: extra !== undefined && Object.keys(extra).length > 0 ? extra : undefined,
  };
}

/** The event in the `legacy` format. */
export function legacyLine({ facts }: AuditEvent): string {
  const { user, impersonatedUser: as, objectRef, responseStatus, sourceIPs } = facts;
  const quoted = (names: readonly string[] | undefined) => names?.map((name) => JSON.stringify(name)).join(',');
  const named = user !== undefined && user.name !== '';
  const groups = named && user.groups.length > 0 ? quoted(user.groups) : '<none>';
  const response = responseStatus === undefined ? '<deferred>' : String(responseStatus.code ?? 0);
  return [
    `${formatMicroTime(facts.receivedMs)} AUDIT: id="${facts.auditID}"`,
    `stage="${facts.stage}"`,
    `ip="${sourceIPs[0] ?? '<unknown>'}"`,
    `method="${facts.verb}"`,
    `user="${named ? user.name : '<none>'}"`,
    `groups=${groups}`,
    `as="${as?.name ?? '<self>'}"`,
    `asgroups=${quoted(as?.groups) ?? '<lookup>'}`,
    `user-agent=${JSON.stringify(facts.userAgent)}`,
    `namespace="${objectRef?.namespace ?? '<none>'}"`,
    `uri="${facts.requestURI}"`,
    `response="${response}"`,
  ].join(' ');
}
