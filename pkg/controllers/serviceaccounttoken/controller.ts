/**
 * Fills in token secrets that users create, and deletes them with their service account. Creates a token secret for
 * every account only if the feature gate LegacyServiceAccountTokenNoAutoGeneration is off.
 */
import { serviceaccounts as accountType, secrets as secretType } from '#api/core/v1/resources.gen.js';
import { secretTokenClaims } from '#api/core/v1/secret/token-claims.js';
import type { Secret, ServiceAccount } from '#api/core/v1/types.gen.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { generateName } from '#apimachinery/generate-name.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import type { WrittenObjects } from '#controllers/framework/written-objects.js';
import {
  filled,
  isIncomplete,
  ownerOf,
  refersTo,
  type TokenOwner,
  type TokenSources,
  tokenSecret,
  withoutReference,
  withReference,
} from '#controllers/serviceaccounttoken/plan.js';
import type { Followed } from '#daemon/certificates/followed-file.js';
import { type JwtSigningKey, signJwt } from '#pki/jwt.js';

export interface ServiceAccountTokenOptions {
  /** The number of workers for accounts, and for secrets. */
  readonly concurrency: number;
  /** Existing tokens stay when the key changes. */
  readonly key: Followed<JwtSigningKey>;
  /** PEM bundle that verifies the API server; added to secrets if set. */
  readonly rootCA: Followed<string> | undefined;
  /** Whether every account gets a token secret. */
  readonly generate: boolean;
}

/** As in 1.24: after more failures a key waits for its object to change. */
const maxRetries = 10;

/** Index of token secrets by `namespace/account/<UID of the account>`. */
const byOwner = 'tokenOwner';

export class ServiceAccountTokenController implements Controller {
  readonly name = 'serviceaccount-token';
  readonly #context: ControllerContext;
  readonly #options: ServiceAccountTokenOptions;
  readonly #accounts: Informer<ServiceAccount>;
  readonly #secrets: Informer<Secret>;
  /** Keys are `namespace/account/UID`. */
  readonly #accountLoop: ReconcileLoop;
  /** Keys are `namespace/secret/UID/account/<UID of the account>`, because a deleted secret's owner cannot be read. */
  readonly #secretLoop: ReconcileLoop;
  readonly #generation: TokenGeneration;

  constructor(context: ControllerContext, options: ServiceAccountTokenOptions) {
    const { dialect } = context;
    this.#context = context;
    this.#options = options;
    this.#accounts = sharedInformer(context.informers, accountType);
    this.#secrets = context.informers.informer(secretType, {
      fieldSelector: `type=${dialect.secretTypes.serviceAccountToken}`,
    });
    this.#secrets.addIndexers({
      [byOwner]: (secret) => {
        const { name, uid } = ownerOf(dialect, secret);
        return [`${secret.metadata.namespace}/${name}/${uid}`];
      },
    });
    const { concurrency } = options;
    this.#accountLoop = new ReconcileLoop(context, {
      name: 'serviceaccount_tokens_service',
      concurrency,
      maxRetries,
      reconcile: (key) => this.#reconcileAccount(key),
    });
    this.#secretLoop = new ReconcileLoop(context, {
      name: 'serviceaccount_tokens_secret',
      concurrency,
      maxRetries,
      reconcile: (key) => this.#reconcileSecret(key),
    });
    this.#generation = new TokenGeneration(context, {
      accounts: this.#accounts,
      secrets: this.#secrets,
      written: this.#accountLoop.written,
      sources: (account) => this.#sources(account),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const addAccount = ({ metadata: { namespace, name, uid } }: ServiceAccount) =>
      this.#accountLoop.queue.add(`${namespace}/${name}/${uid}`);
    const addSecret = (secret: Secret) => {
      const { namespace, name, uid } = secret.metadata;
      const owner = ownerOf(this.#context.dialect, secret);
      if (owner.name !== '') this.#secretLoop.queue.add([namespace, name, uid, owner.name, owner.uid].join('/'));
    };
    this.#options.rootCA?.onChange(() => {
      for (const secret of this.#secrets.list()) addSecret(secret);
    }, signal);
    const watches = [
      this.#accounts.addHandler({ onAdd: addAccount, onUpdate: addAccount, onDelete: addAccount }),
      this.#secrets.addHandler({ onAdd: addSecret, onUpdate: addSecret, onDelete: addSecret }),
    ];
    await Promise.all([this.#accountLoop.run(signal, watches), this.#secretLoop.run(signal)]);
  }

  async #reconcileAccount(key: string): Promise<Outcome> {
    const [namespace = '', name = '', uid = ''] = key.split('/');
    const account = this.#cachedAccount(namespace, { name, uid });
    if (account === undefined) {
      for (const secret of this.#secrets.byIndex(byOwner, key)) await this.#delete(secret);
    } else if (this.#options.generate) {
      await this.#generation.ensure(key, account, this.#secrets.byIndex(byOwner, key));
    }
    return done;
  }

  async #reconcileSecret(key: string): Promise<Outcome> {
    const [namespace = '', name = '', uid = '', ownerName = '', ownerUID = ''] = key.split('/');
    const owner = { name: ownerName, uid: ownerUID };
    const secret = this.#secrets.get(keyFor(namespace, name));
    if (secret?.metadata.uid !== uid) {
      if (this.#cachedAccount(namespace, owner) !== undefined) await this.#dropReference(namespace, owner, name);
      return done;
    }
    // The cache may not show a new account yet.
    const account = this.#cachedAccount(namespace, owner) ?? (await this.#liveAccount(namespace, owner));
    if (account === undefined) await this.#delete(secret);
    else if (isIncomplete(secret, this.#options.rootCA?.current)) await this.#fill(key, secret, account);
    return done;
  }

  #cachedAccount(namespace: string, owner: TokenOwner): ServiceAccount | undefined {
    const account = this.#accounts.get(keyFor(namespace, owner.name));
    return account !== undefined && isOwner(account, owner) ? account : undefined;
  }

  async #liveAccount(namespace: string, owner: TokenOwner): Promise<ServiceAccount | undefined> {
    try {
      const account = await this.#context.client.resource(accountType).get(owner.name, { namespace });
      return isOwner(account, owner) ? account : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #fill(key: string, cached: Secret, account: ServiceAccount): Promise<void> {
    const { client } = this.#context;
    const { name = '', namespace = '' } = cached.metadata;
    try {
      const live = await client.resource(secretType).get(name, { namespace });
      // The newer version enqueues the key again.
      if (live.metadata.resourceVersion !== cached.metadata.resourceVersion) return;
      if (!isIncomplete(live, this.#options.rootCA?.current)) return;
      const written = await client.resource(secretType).update(filled(live, this.#sources(account)));
      this.#secretLoop.written.wrote(key, this.#secrets, written);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  #sources(account: ServiceAccount): TokenSources {
    const { dialect } = this.#context;
    const { key, rootCA } = this.#options;
    const token = (owner: ServiceAccount, secret: Secret) =>
      signJwt(key.current, secretTokenClaims(dialect, owner, secret));
    return { dialect, account, rootCA: rootCA?.current, token };
  }

  async #delete(secret: Secret): Promise<void> {
    const { name = '', namespace = '', uid = '' } = secret.metadata;
    try {
      await this.#context.client.resource(secretType).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      // The secret no longer exists, or another secret has its name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Removes the account's reference to a deleted secret. A conflict is retried. */
  async #dropReference(namespace: string, owner: TokenOwner, secret: string): Promise<void> {
    const account = await this.#liveAccount(namespace, owner);
    if (account === undefined || !refersTo(account, secret)) return;
    try {
      await this.#context.client.resource(accountType).update(withoutReference(account, secret));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** A secret that is not filled in yet has no UID. */
function isOwner({ metadata }: ServiceAccount, { uid }: TokenOwner): boolean {
  return uid === '' || metadata.uid === uid;
}

interface TokenGenerationOptions {
  readonly accounts: Informer<ServiceAccount>;
  readonly secrets: Informer<Secret>;
  readonly written: WrittenObjects;
  readonly sources: (account: ServiceAccount) => TokenSources;
}

/** Creates a token secret for every account, as releases before 1.24 did. */
class TokenGeneration {
  readonly #context: ControllerContext;
  readonly #options: TokenGenerationOptions;

  constructor(context: ControllerContext, options: TokenGenerationOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Creates a secret unless the account refers to one of its `tokens`. `key` is the reconciled key. */
  async ensure(key: string, account: ServiceAccount, tokens: readonly Secret[]): Promise<void> {
    if (tokens.some(({ metadata }) => refersTo(account, metadata.name ?? ''))) return;
    const { client, random } = this.#context;
    const { accounts, secrets, written, sources } = this.#options;
    const { name = '', namespace = '', resourceVersion } = account.metadata;
    let created: Secret | undefined;
    try {
      const live = await client.resource(accountType).get(name, { namespace });
      // The newer version enqueues the key again.
      if (live.metadata.resourceVersion !== resourceVersion) return;
      const secret = tokenSecret(generateName(`${name}-token-`, random), sources(live));
      created = await client.resource(secretType).create(secret);
      written.wrote(key, secrets, created);
      const updated = await client.resource(accountType).update(withReference(live, created.metadata.name ?? ''));
      written.wrote(key, accounts, updated);
    } catch (error) {
      if (created !== undefined) await this.#discard(key, created);
      // The account was changed, which enqueues the key again, or deleted.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  /** Deletes a secret to which the account does not refer. */
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
