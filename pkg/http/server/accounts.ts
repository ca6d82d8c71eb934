/** Accounts of the users of a server, and of addresses whose users are unknown yet. */
import { networkOf } from '#http/server/client-connections.js';
import { FadingAccount } from '#http/server/server-request.js';

/** How much more than others a user may use; absent: 1 for all. */
export type WeightOf = (user: string, groups: readonly string[]) => number;

/** Beyond it, accounts without use are dropped. */
const maxIdle = 10_000;
const noUseMs = 0.01;

export class Accounts {
  readonly #weightOf: WeightOf;
  readonly #nowMs: () => number;
  readonly #accounts = new Map<string, FadingAccount>();
  #limit = maxIdle;

  constructor({
    weightOf = () => 1,
    nowMs,
  }: { readonly weightOf?: WeightOf | undefined; readonly nowMs: () => number }) {
    this.#weightOf = weightOf;
    this.#nowMs = nowMs;
  }

  ofAddress(address: string): FadingAccount {
    return this.#of(`address ${networkOf(address)}`, () => 1);
  }

  ofUser(user: string, groups: readonly string[]): FadingAccount {
    return this.#of(`user ${user}`, () => this.#weightOf(user, groups));
  }

  #of(key: string, weight: () => number): FadingAccount {
    let account = this.#accounts.get(key);
    if (account === undefined) {
      if (this.#accounts.size >= this.#limit) this.#clean();
      account = new FadingAccount(weight());
      this.#accounts.set(key, account);
    }
    return account;
  }

  /** A connection keeps its account; only later connections of the user would get another. */
  #clean(): void {
    const nowMs = this.#nowMs();
    for (const [key, account] of this.#accounts) if (account.used(nowMs) < noUseMs) this.#accounts.delete(key);
    this.#limit = Math.max(maxIdle, 2 * this.#accounts.size);
  }
}
