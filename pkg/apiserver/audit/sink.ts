import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { AuditEvent } from '#apiserver/audit/event.js';

/** Where events go. */
export interface AuditSink {
  /** Rejects where the event is lost and whoever waits should know; what is not waited for is counted by the sink itself. */
  write(event: AuditEvent): MaybePromise<void>;
  /** What is held is written first. */
  close(): Promise<void>;
}

/** What takes several events at once. */
export interface BatchSink {
  writeAll(events: readonly AuditEvent[]): Promise<void>;
  close(): Promise<void>;
}
