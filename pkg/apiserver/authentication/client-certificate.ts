/** Authenticates client certificates: the common name is the user, organizations are groups. */
import { unauthorized } from '#apimachinery/errors/status.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { CertificatePool } from '#apiserver/authentication/certificate-pool.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';

export class ClientCertificateAuthenticator implements Authenticator {
  readonly #pool: CertificatePool;

  constructor(pool: CertificatePool) {
    this.#pool = pool;
  }

  authenticate(request: ApiRequest): UserInfo | undefined {
    if (request.clientCertificate === undefined) return undefined;
    const verdict = this.#pool.verify(request.clientCertificate);
    if (!verdict.ok) throw unauthorized();
    const { commonName, organizations } = verdict.subject;
    return commonName === '' ? undefined : { name: commonName, groups: organizations };
  }
}
