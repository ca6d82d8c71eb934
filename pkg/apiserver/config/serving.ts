/** From options to the server's certificate and the manner of its TLS. */
import type { Clock } from '#apimachinery/clock.js';
import type { TLSMaterial } from '#apiserver/http/server.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { contextsOf, loadServingCertificates, sniFiles } from '#daemon/serving/serving-certificate.js';
import { opensslCipher } from '#daemon/serving/tls-names.js';

export interface ServingOptions {
  readonly values: ApiServerValues;
  readonly clock: Clock;
  /** PEM; undefined: no client certificates are asked for. */
  readonly clientAuthorities: string | undefined;
}

/** Reads the files, or finds or makes the self-signed pair in `--cert-dir`. Throws OptionsError. */
export async function loadServing({ values, clock, clientAuthorities }: ServingOptions): Promise<TLSMaterial> {
  const certificates = await loadServingCertificates({ values, name: 'apiserver', clock });
  const { pair, sni } = certificates;
  const suites = values['tls-cipher-suites'];
  return {
    cert: pair.cert,
    key: pair.key,
    minVersion: values['tls-min-version'] === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ...(clientAuthorities === undefined ? {} : { clientCA: clientAuthorities }),
    ...(sni.length === 0 ? {} : { contextFor: contextsOf(certificates) }),
    ...(suites.length === 0 ? {} : { ciphers: suites.map(opensslCipher).join(':') }),
  };
}

/** The files that may be replaced while the server runs; none when it made its certificate itself. */
export function servingFiles(values: ApiServerValues): string[] {
  const own = [values['tls-cert-file'] ?? '', values['tls-private-key-file'] ?? ''].filter((file) => file !== '');
  return [...own, ...values['tls-sni-cert-key'].flatMap(sniFiles)];
}
