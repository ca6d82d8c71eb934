/** The certificate that this server shows to extension API servers; it may be replaced while the server runs. */

export interface ClientIdentity {
  /** PEM; absent: none is shown. */
  readonly cert?: string;
  readonly key?: string;
}

export class ClientIdentityHolder {
  #current: ClientIdentity;
  readonly #listeners: (() => void)[] = [];

  constructor(first: ClientIdentity) {
    this.#current = first;
  }

  get current(): ClientIdentity {
    return this.#current;
  }

  /** Told when there is another one. */
  listen(listener: () => void): void {
    this.#listeners.push(listener);
  }

  replace(next: ClientIdentity): void {
    if (next.cert === this.#current.cert && next.key === this.#current.key) return;
    this.#current = next;
    for (const listener of this.#listeners) listener();
  }
}
