/** Asks a webhook about each request by a SubjectAccessReview (`--authorization-mode=Webhook`), with 1.24's caches. */
import { hash } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { ResolvedRules, RuleResolver } from '#apiserver/authorization/rule-resolver.js';
import type { WebhookBackend } from '#apiserver/webhooks/backend/backend.js';
import { reviewStatus } from '#apiserver/webhooks/backend/review-answer.js';
import type { Logger } from '#daemon/log/logger.js';

export interface WebhookAuthorizerOptions {
  readonly dialect: Dialect;
  readonly backend: Pick<WebhookBackend, 'ask'>;
  readonly version: 'v1' | 'v1beta1';
  /** How long permissions and refusals are cached; 0 for not at all. */
  readonly allowedTtlMs: number;
  readonly refusedTtlMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Limits of 1.24: of entries, and of the characters that a client chooses in a cached question. */
const maxEntries = 8192;
const maxChosenChars = 10_000;
/** Answers with longer reasons are not cached: the cache must stay small. */
const maxReasonChars = 4096;

interface Verdict {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

export class WebhookAuthorizer implements Authorizer, RuleResolver {
  readonly mode = 'Webhook';
  readonly #options: WebhookAuthorizerOptions;
  readonly #kind: { readonly kind: string; readonly apiVersion: string };
  readonly #cache: LruCache<string, Verdict>;

  constructor(options: WebhookAuthorizerOptions) {
    this.#options = options;
    const { dialect, version, clock, allowedTtlMs, refusedTtlMs } = options;
    this.#kind = { kind: 'SubjectAccessReview', apiVersion: dialect.apiVersion('authorization', version) };
    const ttlMs = ({ allowed }: Verdict) => (allowed ? allowedTtlMs : refusedTtlMs);
    this.#cache = new LruCache({ limit: maxEntries, age: { clock, ttlMs } });
  }

  /** No opinion, with an error, for a failed call. Rejects with 429 at the limit of concurrent calls. */
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    const spec = JSON.stringify(specOf(attributes, this.#options.version));
    const key = hash('sha256', spec, 'base64');
    const cached = this.#cache.get(key);
    if (cached !== undefined) return decisionOf(cached);
    try {
      const verdict = await this.#ask(spec);
      if (mayCache(attributes, verdict)) this.#cache.set(key, verdict);
      return decisionOf(verdict);
    } catch (err) {
      if (statusOf(err)?.code === 429) throw err;
      this.#options.log.error({ err }, 'Failed to make webhook authorizer request');
      return { decision: 'noOpinion', reason: '', error: messageOf(err) };
    }
  }

  /** Like in 1.24, a webhook cannot list rules. */
  rulesFor(): ResolvedRules {
    return { rules: [], errors: ['webhook authorizer does not support user rule resolution'], incomplete: true };
  }

  async #ask(spec: string): Promise<Verdict> {
    const { kind, apiVersion } = this.#kind;
    const body = `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":{"creationTimestamp":null},"spec":${spec},"status":{"allowed":false}}`;
    const status = reviewStatus(await this.#options.backend.ask(body), this.#kind);
    // Read for its type only, as 1.24 ignores it.
    status.text('evaluationError');
    return { allowed: status.flag('allowed'), denied: status.flag('denied'), reason: status.text('reason') };
  }
}

function decisionOf({ allowed, denied, reason }: Verdict): AuthorizationDecision {
  if (denied && allowed) {
    const error = 'webhook subject access review returned both allow and deny response';
    return { decision: 'deny', reason, error };
  }
  if (denied) return { decision: 'deny', reason };
  return { decision: allowed ? 'allow' : 'noOpinion', reason };
}

/** Long questions may be an attempt to fill the memory. */
function mayCache(a: AuthorizationAttributes, { reason }: Verdict): boolean {
  const chosen = [a.namespace, a.verb, a.group, a.version, a.resource, a.subresource, a.name, a.path];
  return chosen.reduce((sum, text) => sum + text.length, 0) < maxChosenChars && reason.length <= maxReasonChars;
}

/** Empty fields are left out, as 1.24's encoder does. */
function specOf(a: AuthorizationAttributes, version: 'v1' | 'v1beta1'): object {
  const { name, uid = '', groups, extra } = a.user;
  const resource = {
    namespace: a.namespace,
    verb: a.verb,
    group: a.group,
    version: a.version,
    resource: a.resource,
    subresource: a.subresource,
    name: a.name,
  };
  return {
    ...(a.resourceRequest
      ? { resourceAttributes: nonEmpty(resource) }
      : { nonResourceAttributes: nonEmpty({ path: a.path, verb: a.verb }) }),
    ...nonEmpty({ user: name }),
    ...(groups.length === 0 ? {} : { [version === 'v1' ? 'groups' : 'group']: groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
    ...nonEmpty({ uid }),
  };
}

function nonEmpty(fields: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ''));
}
