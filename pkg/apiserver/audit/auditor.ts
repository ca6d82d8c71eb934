/** Records requests according to the audit policy. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { AuditEvent, auditVersion, type EventFacts } from '#apiserver/audit/event.js';
import type { AuditMetrics } from '#apiserver/audit/metrics.js';
import type { PolicyRules } from '#apiserver/audit/policy.js';
import { RequestAudit, type StartedRequest } from '#apiserver/audit/request-audit.js';
import type { AuditSink } from '#apiserver/audit/sink.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { Codec } from '#apiserver/resources/codec.js';

export interface AuditorOptions {
  readonly dialect: Dialect;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly rules: PolicyRules;
  readonly sinks: readonly AuditSink[];
  /** True: a request fails if its arrival cannot be recorded. */
  readonly strict: boolean;
  readonly metrics: AuditMetrics;
}

export class Auditor {
  readonly #options: AuditorOptions;
  readonly #version: string;

  constructor(options: AuditorOptions) {
    this.#options = options;
    this.#version = auditVersion(options.dialect);
  }

  /** Begins the audit of a request; undefined if the policy does not record it. */
  begin(started: StartedRequest, user: UserInfo | undefined): RequestAudit | undefined {
    const { rules, metrics, clock, strict, dialect, codec } = this.#options;
    const recording = rules.recordingOf(started.info, user);
    metrics.level(recording.level);
    if (recording.level === 'None') return undefined;
    const write = (facts: EventFacts) => this.#write(facts);
    return new RequestAudit(started, user, { recording, clock, strict, dialect, codec, metrics, write });
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.sinks.map((sink) => sink.close()));
  }

  /** Returns undefined if no sink has to be awaited. */
  #write(facts: EventFacts): Promise<void> | undefined {
    const { sinks, metrics } = this.#options;
    metrics.event();
    const event = new AuditEvent(this.#version, facts);
    const waits: Promise<void>[] = [];
    for (const sink of sinks) {
      const wait = sink.write(event);
      if (wait instanceof Promise) waits.push(wait);
    }
    return waits.length === 0 ? undefined : settleAll(waits);
  }
}

/** Waits for all sinks, then throws the first failure. */
async function settleAll(waits: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(waits)) if (outcome.status === 'rejected') throw outcome.reason;
}
