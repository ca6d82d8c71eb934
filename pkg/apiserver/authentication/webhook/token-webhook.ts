/** Authenticates tokens by TokenReviews of a webhook (`--authentication-token-webhook-config-file`). */
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { ReviewedToken, TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import { TokenRefusal } from '#apiserver/authentication/token-refusal.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { WebhookBackend } from '#apiserver/webhooks/backend/backend.js';
import { type ReviewFields, reviewStatus } from '#apiserver/webhooks/backend/review-answer.js';
import type { Logger } from '#daemon/log/logger.js';

export interface TokenWebhookOptions {
  readonly dialect: Dialect;
  readonly backend: Pick<WebhookBackend, 'ask'>;
  readonly version: 'v1' | 'v1beta1';
  /** Audiences of this API server: of requests, and of tokens that the webhook names no audiences of. */
  readonly audiences: readonly string[];
  readonly log: Logger;
}

export class TokenWebhook implements TokenAuthenticator {
  readonly #options: TokenWebhookOptions;
  readonly #kind: { readonly kind: string; readonly apiVersion: string };

  constructor(options: TokenWebhookOptions) {
    this.#options = options;
    this.#kind = { kind: 'TokenReview', apiVersion: options.dialect.apiVersion('authentication', options.version) };
  }

  async authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined> {
    return (await this.reviewToken(token, audiences))?.user;
  }

  /** Rejects with a TokenRefusal for a failed call too: nothing is known about the token then. */
  async reviewToken(token: string, audiences = this.#options.audiences): Promise<ReviewedToken | undefined> {
    const status = await this.#ask(token, audiences);
    const named = status.texts('audiences');
    const tokenAudiences = new Set(named.length > 0 ? named : this.#options.audiences);
    const shared = audiences.filter((audience) => tokenAudiences.has(audience));
    if (audiences.length > 0 && shared.length === 0) return undefined;
    if (!status.flag('authenticated')) {
      const why = status.text('error');
      if (why !== '') throw new TokenRefusal([why]);
      return undefined;
    }
    return { user: userOf(status.message('user', 'UserInfo')), audiences: shared };
  }

  async #ask(token: string, audiences: readonly string[]): Promise<ReviewFields> {
    const { backend, log } = this.#options;
    const review = {
      ...this.#kind,
      metadata: { creationTimestamp: null },
      spec: { token, ...(audiences.length === 0 ? {} : { audiences }) },
      status: { user: {} },
    };
    try {
      const status = reviewStatus(await backend.ask(JSON.stringify(review)), this.#kind);
      checkTypes(status);
      return status;
    } catch (error) {
      // The limit of concurrent calls: the client may try again.
      if (statusOf(error)?.code === 429) throw error;
      log.error({ err: error }, 'Failed to make webhook authenticator request');
      throw new TokenRefusal([messageOf(error)], error);
    }
  }
}

/** Throws WebhookCallError unless every field has its type. */
function checkTypes(status: ReviewFields): void {
  status.texts('audiences');
  status.text('error');
  status.flag('authenticated');
  userOf(status.message('user', 'UserInfo'));
}

function userOf(fields: ReviewFields): UserInfo {
  const uid = fields.text('uid');
  const extra = fields.textLists('extra');
  return {
    name: fields.text('username'),
    groups: fields.texts('groups'),
    method: 'token-webhook',
    ...(uid === '' ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}
