/** In place of `node:crypto`, of which the answers need only certificates. */
import { Certificate } from '#dashboard/model/certificate.js';

/** A page does not compare keys with certificates: no key is called wrong. */
class BrowserCertificate extends Certificate {
  checkPrivateKey(_key: unknown): boolean {
    return true;
  }
}

export { BrowserCertificate as X509Certificate };

/** The key as it is. */
export function createPrivateKey(key: unknown): unknown {
  return key;
}
