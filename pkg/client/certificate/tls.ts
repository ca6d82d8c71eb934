/** TLS with a renewable certificate: requests wait until there is one. */

import type { TimedKeyCertificate } from '#client/certificate/key-certificate.js';
import type { CertificateManager } from '#client/certificate/manager.js';
import type { TlsMaterial, TlsSource } from '#http/client/credentials.js';

export class ManagedTls implements TlsSource {
  readonly #manager: CertificateManager;
  readonly #trust: TlsSource | undefined;
  #last:
    | { readonly pair: TimedKeyCertificate; readonly ca: TlsMaterial['ca']; readonly material: TlsMaterial }
    | undefined;

  /** `trust`: source of the certificate authorities; its certificate is not used. */
  constructor(manager: CertificateManager, trust: TlsSource | undefined) {
    this.#manager = manager;
    this.#trust = trust;
  }

  async current(): Promise<TlsMaterial> {
    const [pair, trusted] = await Promise.all([this.#manager.available(), this.#trust?.current()]);
    const ca = trusted?.ca;
    // Returning the same object signals that nothing changed.
    if (this.#last?.pair !== pair || this.#last.ca !== ca)
      this.#last = { pair, ca, material: { ca, cert: pair.certificate, key: pair.privateKey } };
    return this.#last.material;
  }
}
