import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { AuditEvent } from '#apiserver/audit/event.js';

export interface AuditSink {
  /** Rejects if the event is lost; a sink that does not wait counts lost events itself. */
  write(event: AuditEvent): MaybePromise<void>;
  /** Writes buffered events first. */
  close(): Promise<void>;
}

export interface BatchSink {
  writeAll(events: readonly AuditEvent[]): Promise<void>;
  close(): Promise<void>;
}
