/** Why the API server refuses an object, by the step that does. Pure. */
import type { Status } from '#apimachinery/errors/status.js';

export interface AskedWebhook {
  readonly webhook: string;
  readonly outcome: string;
  readonly milliseconds: number;
}

export interface Verdict {
  /** `configmaps/one`. */
  readonly object: string;
  readonly outcome: 'Accepted' | 'Refused';
  /** What refuses it: a step on the way of every write. */
  readonly step?: string;
  readonly message?: string;
  /** In the order in which they answered. */
  readonly webhooks: readonly AskedWebhook[];
  readonly warnings: readonly string[];
}

/** The step on a request's way that a failure comes from. */
export function stepOf({ code = 0, reason = '', message = '' }: Status): string {
  const [, denying] = /^admission webhook "([^"]+)" (?:denied|does not support)/.exec(message) ?? [];
  if (denying !== undefined) return `admission webhook ${denying}`;
  const [, failing] = /failed calling webhook "([^"]+)"/.exec(message) ?? [];
  if (failing !== undefined) return `admission webhook ${failing}, which does not answer as it should`;
  if (/^conversion webhook for /.test(message)) return 'conversion webhook';
  if (/exceeded quota: |failed quota: /.test(message)) return 'quota';
  if (code === 401) return 'authentication';
  if (code === 403) return /User "[^"]*" cannot /.test(message) ? 'authorization' : 'admission';
  if (code === 409)
    return reason === 'AlreadyExists' ? 'storage: there is one of that name' : 'conflict with another manager';
  if (code === 422) return 'validation';
  if (code === 400) return 'reading of the object';
  if (code === 404) return 'routing: there is no such kind or namespace';
  if (code === 429) return 'limits of requests under way';
  return 'server';
}

/** The webhooks that a `Server-Timing` header tells of; what else it has is left out. */
export function webhooksIn(header: string | undefined): AskedWebhook[] {
  return [...(header ?? '').matchAll(/(?:^|,\s*)webhook;desc="([^" ]+) ([^" ]+)";dur=([\d.]+)/g)].map(
    ([, webhook = '', outcome = '', ms]) => ({ webhook, outcome, milliseconds: Number(ms) }),
  );
}

/** The texts of a `Warning` header. */
export function warningsIn(header: string | undefined): string[] {
  return [...(header ?? '').matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replace(/\\(.)/g, '$1'),
  );
}
