/** Whom the server believes about clients and front proxies: bundles in files, which may be replaced while it runs. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { CertificatePool } from '#apiserver/authentication/certificate-pool.js';
import { forOption } from '#apiserver/config/files.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { holdCertificate } from '#daemon/certificates/expirations.js';
import { textOf } from '#daemon/certificates/followed-file.js';

type BundleOption = 'client-ca-file' | 'requestheader-client-ca-file';

export interface Bundle {
  readonly file: string;
  /** PEM; as it was last read. */
  readonly text: string;
  readonly pool: CertificatePool;
}

export interface ClientAuthorities {
  /** Of users; undefined where nobody is known by a certificate. */
  readonly clients: Bundle | undefined;
  readonly frontProxies: Bundle | undefined;
  readonly files: readonly string[];
  /** PEM of all authorities whose client certificates are asked for; undefined when there are none. */
  readonly all: string | undefined;
  /**
   * Reads the files again; requests from now on are judged by what they hold. Resolves with whether that is something
   * else. Throws OptionsError for a file that cannot be used; what it held before stays in use.
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

  /** Undefined where the option is not given. */
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
