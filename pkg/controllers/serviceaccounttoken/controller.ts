/**
 * Fills in the secrets that users make for the tokens of service accounts, and deletes them with their account. Only
 * where the feature gate that ends it is off does every account get such a secret by itself.
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
import type { WrittenObjects } from '#controllers/framework/written.js';
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
  /** Accounts, and secrets, worked on at once. */
  readonly concurrency: number;
  /** What was signed with an earlier one stays as it is. */
  readonly key: Followed<JwtSigningKey>;
  /** PEM bundle that verifies the API server; absent: secrets hold none. */
  readonly rootCA: Followed<string> | undefined;
  /** Whether accounts get a secret without being asked: feature gate LegacyServiceAccountTokenNoAutoGeneration is off. */
  readonly generate: boolean;
}

/** As in 1.24: what fails for longer is looked at again when the object changes. */
const maxRetries = 10;

/** Index of token secrets by `namespace/account/UID of the account`. */
const byOwner = 'tokenOwner';

export class ServiceAccountTokenController implements Controller {
  readonly name = 'serviceaccount-token';
  readonly #context: ControllerContext;
  readonly #options: ServiceAccountTokenOptions;
  readonly #accounts: Informer<ServiceAccount>;
  readonly #secrets: Informer<Secret>;
  /** Keys: `namespace/account/UID`. */
  readonly #accountLoop: ReconcileLoop;
  /** Keys: `namespace/secret/UID/account/UID of the account`. What is deleted says no more whose it was. */
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
    // The cache may not show an account that has just been made.
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
      // The cache will show the newer one, which brings the key back.
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
    const token = (of: ServiceAccount, secret: Secret) => signJwt(key.current, secretTokenClaims(dialect, of, secret));
    return { dialect, account, rootCA: rootCA?.current, token };
  }

  async #delete(secret: Secret): Promise<void> {
    const { name = '', namespace = '', uid = '' } = secret.metadata;
    try {
      await this.#context.client.resource(secretType).delete(name, { namespace, preconditions: { uid } });
    } catch (error) {
      // It is gone, or another one has its name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Takes a secret that is gone out of what its account refers to. A conflict is tried again. */
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

/** A secret that nobody has filled in yet names no UID. */
function isOwner({ metadata }: ServiceAccount, { uid }: TokenOwner): boolean {
  return uid === '' || metadata.uid === uid;
}

interface TokenGenerationOptions {
  readonly accounts: Informer<ServiceAccount>;
  readonly secrets: Informer<Secret>;
  readonly written: WrittenObjects;
  readonly sources: (account: ServiceAccount) => TokenSources;
}

/** Gives accounts a token secret without being asked, as releases before 1.24 did. */
class TokenGeneration {
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
      // Another client has changed the account, which brings the key back, or it is gone.
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
