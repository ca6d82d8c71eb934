/** The client certificate that this server presents to extension API servers; it may be replaced while the server runs. */

export interface ClientIdentity {
  /** PEM; absent: no certificate. */
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
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

  /** Called when the certificate has changed. */
  listen(listener: () => void): void {
    this.#listeners.push(listener);
  }

  replace(next: ClientIdentity): void {
    if (String(next.cert) === String(this.#current.cert) && String(next.key) === String(this.#current.key)) return;
    this.#current = next;
    for (const listener of this.#listeners) listener();
  }
}
