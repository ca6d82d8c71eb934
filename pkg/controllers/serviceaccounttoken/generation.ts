/** Gives accounts a token secret without being asked, as releases before 1.24 did. */
import { serviceaccounts as accountType, secrets as secretType } from '#api/core/v1/resources.gen.js';
import type { Secret, ServiceAccount } from '#api/core/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { generateName } from '#apimachinery/generate-name.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import type { WrittenObjects } from '#controllers/framework/written.js';
import { refersTo, type TokenSources, tokenSecret, withReference } from '#controllers/serviceaccounttoken/plan.js';

export interface TokenGenerationOptions {
  readonly accounts: Informer<ServiceAccount>;
  readonly secrets: Informer<Secret>;
  readonly written: WrittenObjects;
  readonly sources: (account: ServiceAccount) => TokenSources;
}

export class TokenGeneration {
  readonly #context: ControllerContext;
  readonly #options: TokenGenerationOptions;

  constructor(context: ControllerContext, options: TokenGenerationOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Makes a secret unless the account refers to one of `tokens`, its own. `key` is the key that is worked on. */
  async ensure(key: string, account: ServiceAccount, tokens: readonly Secret[]): Promise<void> {
    if (tokens.some(({ metadata }) => refersTo(account, metadata.name ?? ''))) return;
    const { client, random } = this.#context;
    const { accounts, secrets, written, sources } = this.#options;
    const { name = '', namespace = '', resourceVersion } = account.metadata;
    let made: Secret | undefined;
    try {
      const live = await client.resource(accountType).get(name, { namespace });
      // The cache will show the newer one, which brings the key back.
      if (live.metadata.resourceVersion !== resourceVersion) return;
      const secret = tokenSecret(generateName(`${name}-token-`, random), sources(live));
      made = await client.resource(secretType).create(secret);
      written.wrote(key, secrets, made);
      const updated = await client.resource(accountType).update(withReference(live, made.metadata.name ?? ''));
      written.wrote(key, accounts, updated);
    } catch (error) {
      if (made !== undefined) await this.#discard(key, made);
      // Somebody else has changed the account, which brings the key back, or it is gone.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  /** A secret that its account does not refer to is of no use. */
  async #discard(key: string, secret: Secret): Promise<void> {
    const { name = '', namespace = '', uid = '' } = secret.metadata;
    try {
      await this.#context.client.resource(secretType).delete(name, { namespace, preconditions: { uid } });
      this.#options.written.deleted(key, this.#options.secrets, secret);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
