/** Which step of the API server refuses an object. Pure. */
import type { Status } from '#apimachinery/errors/status.js';

export interface CalledWebhook {
  readonly webhook: string;
  readonly outcome: string;
  readonly milliseconds: number;
}

export interface Verdict {
  /** `configmaps/one`. */
  readonly object: string;
  readonly outcome: 'Accepted' | 'Refused';
  /** The step that refuses the object. */
  readonly step?: string;
  readonly message?: string;
  /** In the order of their answers. */
  readonly webhooks: readonly CalledWebhook[];
  readonly warnings: readonly string[];
}

/** The step that causes a failure. */
export function stepOf({ code = 0, reason = '', message = '' }: Status): string {
  const [, denying] = /^admission webhook "([^"]+)" (?:denied|does not support)/.exec(message) ?? [];
  if (denying !== undefined) return `admission webhook ${denying}`;
  const [, failing] = /failed calling webhook "([^"]+)"/.exec(message) ?? [];
  if (failing !== undefined) return `admission webhook ${failing}, which fails`;
  if (/^conversion webhook for /.test(message)) return 'conversion webhook';
  if (/exceeded quota: |failed quota: /.test(message)) return 'quota';
  if (code === 401) return 'authentication';
  if (code === 403) return /User "[^"]*" cannot /.test(message) ? 'authorization' : 'admission';
  if (code === 409)
    return reason === 'AlreadyExists' ? 'storage: an object with this name exists' : 'conflict with another manager';
  if (code === 422) return 'validation';
  if (code === 400) return 'decoding of the object';
  if (code === 404) return 'routing: the kind or namespace does not exist';
  if (code === 429) return 'limit of concurrent requests';
  return 'server';
}

/** The webhooks in a `Server-Timing` header; other entries are ignored. */
export function webhooksIn(header: string | undefined): CalledWebhook[] {
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
