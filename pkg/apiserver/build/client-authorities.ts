/** CA bundles of client certificates and front proxies: files that may be replaced while the server runs. */
import type { Registry } from 'prom-client';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Clock } from '#apimachinery/clock.js';
import { CertificatePool } from '#apiserver/authentication/certificate-pool.js';
import { forOption } from '#apiserver/build/option-files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { OptionsError } from '#daemon/options/option.js';

type BundleOption = 'client-ca-file' | 'requestheader-client-ca-file';

export interface Bundle {
  readonly file: string;
  /** PEM, as last read. */
  readonly text: string;
  readonly pool: CertificatePool;
}

export interface ClientAuthorities {
  /** Authorities of users' client certificates; undefined where client certificates do not authenticate. */
  readonly clients: Bundle | undefined;
  readonly frontProxies: Bundle | undefined;
  readonly files: readonly string[];
  /** PEM of all authorities that the TLS handshake names; undefined when there are none. */
  readonly all: string | undefined;
  /**
   * Reads the files again; later requests are authenticated by them. Resolves with true when a file has changed. Throws
   * OptionsError for a file that cannot be used; its previous certificates stay in use.
   */
  reload(): Promise<boolean>;
}

/** Throws OptionsError. */
export async function readClientAuthorities(
  values: ApiServerValues,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Registry },
): Promise<ClientAuthorities> {
  const clients = await FollowedBundle.read(values, 'client-ca-file', clock);
  const frontProxies = await FollowedBundle.read(values, 'requestheader-client-ca-file', clock);
  holdCertificate(metrics, 'client-authority', () => clients?.text);
  holdCertificate(metrics, 'front-proxy-authority', () => frontProxies?.text);
  if (values['requestheader-allowed-names'].length === 0) refuseCommonAuthority(clients, frontProxies);
  const both = [clients, frontProxies].filter((bundle) => bundle !== undefined);
  return {
    clients,
    frontProxies,
    files: both.map(({ file }) => file),
    get all() {
      return both.length === 0 ? undefined : both.map(({ text }) => text).join('\n');
    },
    async reload() {
      const changes = await Promise.all(both.map((bundle) => bundle.reload()));
      return changes.includes(true);
    },
  };
}

/**
 * Throws OptionsError where an authority of users is one of front proxies, too, and every certificate of it is a front
 * proxy's: each user could name any other.
 */
function refuseCommonAuthority(clients: Bundle | undefined, frontProxies: Bundle | undefined): void {
  if (clients === undefined || frontProxies === undefined) return;
  const own = new Set(certificatesInPem(clients.text).map((certificate) => certificate.toString('base64')));
  if (!certificatesInPem(frontProxies.text).some((certificate) => own.has(certificate.toString('base64')))) return;
  throw new OptionsError([
    '--requestheader-client-ca-file has an authority of --client-ca-file, so every user with a certificate could act as any other; give the common names of the front proxies in --requestheader-allowed-names, or another authority',
  ]);
}

class FollowedBundle implements Bundle {
  readonly file: string;
  readonly pool: CertificatePool;
  readonly #option: BundleOption;
  #text: string;

  private constructor(option: BundleOption, file: string, text: string, clock: Clock) {
    this.file = file;
    this.#option = option;
    this.#text = text;
    this.pool = forOption(option, () => new CertificatePool({ bundle: text, clock }));
  }

  /** Undefined without the option. */
  static async read(values: ApiServerValues, option: BundleOption, clock: Clock): Promise<FollowedBundle | undefined> {
    const file = values[option] ?? '';
    return file === '' ? undefined : new FollowedBundle(option, file, await textOf(option, file), clock);
  }

  get text(): string {
    return this.#text;
  }

  async reload(): Promise<boolean> {
    const text = await textOf(this.#option, this.file);
    if (text === this.#text) return false;
    forOption(this.#option, () => this.pool.replace(text));
    this.#text = text;
    return true;
  }
}
