/** Audit annotations about webhooks: those of 1.24, and the duration of each call. */
import type { Dialect } from '#apimachinery/dialect.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Invocation, Subject } from '#apiserver/admission/webhook/invocation.js';

export type Outcome = 'allowed' | 'denied' | 'failed' | 'ignored';

/** Longer patches are omitted. */
const maxPatchChars = 256 * 1024;

export function recordMutation(dialect: Dialect, invocation: Invocation, subject: Subject, mutated: boolean): void {
  const { audit } = subject.scope.context;
  if (audit === undefined) return;
  const value = JSON.stringify({ ...namesOf(invocation), mutated });
  audit.annotate(keyOf('mutation', dialect, invocation, subject), value);
}

export function recordPatch(
  dialect: Dialect,
  invocation: Invocation,
  subject: Subject,
  patch: readonly unknown[],
): void {
  const { audit } = subject.scope.context;
  if (audit?.reaches('Request') !== true) return;
  const value = toJSONText({ ...namesOf(invocation), patch, patchType: 'JSONPatch' });
  if (value.length <= maxPatchChars) audit.annotate(keyOf('patch', dialect, invocation, subject), value);
}

/** Records that the webhook's failure was ignored. */
export function recordFailedOpen(dialect: Dialect, invocation: Invocation, subject: Subject): void {
  const prefix = subject.type === 'admit' ? 'failed-open.mutation' : 'failed-open.validating';
  const { audit } = subject.scope.context;
  audit?.annotate(keyOf(prefix, dialect, invocation, subject), invocation.webhook.name);
}

/** Records the time of a call, so that users see which webhook made a request slow or refused it. */
export function recordTime(
  dialect: Dialect,
  invocation: Invocation,
  subject: Subject,
  { outcome, ms }: { readonly outcome: Outcome; readonly ms: number },
): void {
  const { audit } = subject.scope.context;
  if (audit === undefined) return;
  const prefix = subject.type === 'admit' ? 'time.mutation' : 'time.validating';
  const value = JSON.stringify({ ...namesOf(invocation), outcome, milliseconds: Math.round(ms) });
  audit.annotate(keyOf(prefix, dialect, invocation, subject), value);
}

/** Records the webhook's own annotations. */
export function recordOwn(
  { webhook }: Invocation,
  { scope }: Subject,
  annotations: Readonly<Record<string, string>>,
): void {
  const { audit } = scope.context;
  if (audit === undefined) return;
  for (const [key, value] of Object.entries(annotations)) audit.annotate(`${webhook.name}/${key}`, value);
}

function namesOf({ webhook: { configuration, name } }: Invocation) {
  return { configuration, webhook: name };
}

function keyOf(prefix: string, dialect: Dialect, { place }: Invocation, { attributes }: Subject): string {
  const round = attributes.reinvocation?.round ?? 0;
  return `${prefix}.webhook.${dialect.groupName('admission')}/round_${round}_index_${place}`;
}
