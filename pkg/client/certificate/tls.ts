/** TLS with a certificate that is renewed meanwhile: requests wait until there is one. */

import type { TimedKeyCertificate } from '#client/certificate/key-certificate.js';
import type { CertificateManager } from '#client/certificate/manager.js';
import type { TlsMaterial, TlsSource } from '#http/client/credentials.js';

export class ManagedTls implements TlsSource {
  readonly #manager: CertificateManager;
  readonly #trust: TlsSource | undefined;
  #last:
    | { readonly pair: TimedKeyCertificate; readonly ca: TlsMaterial['ca']; readonly material: TlsMaterial }
    | undefined;

  /** `trust`: where the authorities are from; its certificate is not used. */
  constructor(manager: CertificateManager, trust: TlsSource | undefined) {
    this.#manager = manager;
    this.#trust = trust;
  }

  async current(): Promise<TlsMaterial> {
    const [pair, trusted] = await Promise.all([this.#manager.available(), this.#trust?.current()]);
    const ca = trusted?.ca;
    // The same object again says that nothing changed.
    if (this.#last?.pair !== pair || this.#last.ca !== ca)
      this.#last = { pair, ca, material: { ca, cert: pair.certificate, key: pair.privateKey } };
    return this.#last.material;
  }
}
