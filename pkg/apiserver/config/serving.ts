/** From options to the server's certificate and the manner of its TLS. */
import type { Clock } from '#apimachinery/clock.js';
import type { ClientAuthorities } from '#apiserver/config/client-authorities.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { contextsOf, loadServingCertificates } from '#daemon/serving/serving-certificate.js';
import { opensslCipher } from '#daemon/serving/tls-names.js';
import type { TLSMaterial } from '#http/server/https-server.js';

export interface ServingOptions {
  readonly values: ApiServerValues;
  readonly clock: Clock;
  /** Without any, no client certificates are asked for. */
  readonly authorities: Pick<ClientAuthorities, 'all'>;
}

/** Reads the files, or finds or makes the self-signed pair in `--cert-dir`. Throws OptionsError. */
export async function loadServing({ values, clock, authorities }: ServingOptions): Promise<TLSMaterial> {
  const certificates = await loadServingCertificates({ values, name: 'apiserver', clock });
  const { pair, sni } = certificates;
  const suites = values['tls-cipher-suites'];
  const { all: clientCA } = authorities;
  return {
    cert: pair.cert,
    key: pair.key,
    minVersion: values['tls-min-version'] === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ...(clientCA === undefined ? {} : { clientCA }),
    ...(sni.length === 0 ? {} : { contextFor: contextsOf(certificates) }),
    ...(suites.length === 0 ? {} : { ciphers: suites.map(opensslCipher).join(':') }),
  };
}
