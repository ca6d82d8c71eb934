/**
 * Credentials from a plugin, requested on demand and cached until they expire or the server refuses them. Protocol:
 * client.authentication, v1 and v1beta1, of release 1.24.
 */
import { X509Certificate } from 'node:crypto';
import type { Clock } from '#apimachinery/clock.js';
import { readYAML } from '#apimachinery/codec/yaml.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type ExecMetrics, noExecMetrics } from '#client/kubeconfig/exec-metrics.js';
import type { PluginRunner } from '#client/kubeconfig/exec-plugin.js';
import { type Cluster, type ExecEntry, inlineOrFile, isRecord, KubeconfigError } from '#client/kubeconfig/file.js';
import type { ReadFile } from '#daemon/certificates/certificate-files.js';
import type { TlsMaterial, TlsSource, TokenSource } from '#http/client/credentials.js';

/** The plugin returned no credential, so requests cannot be sent. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

type InteractiveMode = 'Never' | 'IfAvailable' | 'Always';

export interface ExecConfig {
  /** As written in the file. */
  readonly apiVersion: string;
  readonly dialect: Dialect;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: InteractiveMode;
}

const group = (dialect: Dialect) => `client.authentication.${dialect.apiDomain}`;
const modes: readonly string[] = ['Never', 'IfAvailable', 'Always'] satisfies InteractiveMode[];

/** The validated entry with defaults. Throws KubeconfigError for an invalid one. */
export function execConfigOf(entry: ExecEntry, where: string): ExecConfig {
  const refuse = (why: string) => new KubeconfigError(`${where}: exec: ${why}`);
  const { apiVersion = '', command = '', interactiveMode, installHint = '', provideClusterInfo = false } = entry;
  if (typeof command !== 'string' || command === '') throw refuse('command must be specified');
  if (apiVersion === '') throw refuse('apiVersion must be specified');
  const dialect = [kubernetesDialect, orchDialect].find((candidate) =>
    [`${group(candidate)}/v1`, `${group(candidate)}/v1beta1`].includes(apiVersion),
  );
  if (dialect === undefined) throw refuse(`invalid apiVersion ${JSON.stringify(apiVersion)}`);
  const mode = interactiveMode ?? (apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : '');
  if (mode === '') throw refuse('interactiveMode must be specified');
  if (!modes.includes(mode)) throw refuse(`invalid interactiveMode ${JSON.stringify(mode)}`);
  const args = entry.args ?? [];
  if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string'))
    throw refuse('args is not a list of strings');
  const env: Record<string, string> = {};
  for (const variable of entry.env ?? []) {
    if (!isRecord(variable) || typeof variable.name !== 'string' || variable.name === '') {
      throw refuse('env variable name must be specified');
    }
    env[variable.name] = String(variable.value ?? '');
  }
  return {
    apiVersion,
    dialect,
    command,
    args,
    env,
    installHint,
    provideClusterInfo,
    interactiveMode: mode as InteractiveMode,
  };
}

export interface ExecContext {
  readonly clock: Clock;
  readonly readFile: ReadFile;
  readonly plugins: PluginRunner;
  readonly metrics?: ExecMetrics;
  /** The cluster, as passed to the plugin. */
  readonly cluster: Cluster & { readonly server: string };
  readonly proxy: URL | undefined;
}

interface Credential {
  readonly token: string;
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
  /** Since the epoch; undefined: valid until the server refuses it. */
  readonly expiresAtMs: number | undefined;
}

export class ExecCredentials implements TokenSource {
  readonly #config: ExecConfig;
  readonly #surroundings: ExecContext;
  readonly #metrics: ExecMetrics;
  #credential: Credential | undefined;
  #last: Credential | undefined;
  #asking: Promise<Credential> | undefined;

  constructor(config: ExecConfig, context: ExecContext) {
    this.#config = config;
    this.#surroundings = context;
    this.#metrics = context.metrics ?? noExecMetrics;
  }

  /** Rejects with CredentialError if the plugin returns no credential. Empty if it returns only a certificate. */
  async token(): Promise<string> {
    return (await this.#current()).token;
  }

  invalidate(): void {
    this.#credential = undefined;
  }

  /** The authorities of `base` with the plugin's certificate, if it returns one. */
  tls(base: TlsSource): TlsSource {
    let cached: { whole: TlsMaterial; credential: Credential; material: TlsMaterial } | undefined;
    return {
      current: async () => {
        const [whole, credential] = await Promise.all([base.current(), this.#current()]);
        const { certificate } = credential;
        if (certificate === undefined) return whole;
        if (cached?.whole !== whole || cached.credential !== credential) {
          cached = { whole, credential, material: { ...whole, ...certificate } };
        }
        return cached.material;
      },
      invalidate: () => {
        base.invalidate?.();
        this.invalidate();
      },
    };
  }

  async #current(): Promise<Credential> {
    const credential = this.#credential;
    const { clock } = this.#surroundings;
    if (credential !== undefined && (credential.expiresAtMs === undefined || clock.now() < credential.expiresAtMs))
      return credential;
    this.#asking ??= this.#refresh().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #refresh(): Promise<Credential> {
    const credential = this.#reuseUnchanged(await this.#run());
    this.#credential = credential;
    this.#last = credential;
    return credential;
  }

  /** Reuses the object of an unchanged certificate, so that connections stay open. */
  #reuseUnchanged(credential: Credential): Credential {
    const last = this.#last;
    const before = last?.certificate;
    const now = credential.certificate;
    if (now !== undefined && before?.cert === now.cert && before.key === now.key) {
      const same = last?.token === credential.token && last.expiresAtMs === credential.expiresAtMs;
      return same ? last : { ...credential, certificate: before };
    }
    if (before !== undefined) this.#metrics.rotated(this.#surroundings.clock.now() - validity(before.cert).fromMs);
    this.#metrics.certificate(now === undefined ? undefined : validity(now.cert).untilMs);
    return credential;
  }

  async #run(): Promise<Credential> {
    const { command, args, env, dialect, installHint } = this.#config;
    const { plugins } = this.#surroundings;
    const interactive = this.#interactive();
    const info = JSON.stringify(await this.#info(interactive));
    const result = await plugins.run({
      command,
      args,
      env: { ...env, [`${dialect.serviceEnvPrefix}_EXEC_INFO`]: info },
      interactive,
    });
    switch (result.kind) {
      case 'notFound':
        this.#metrics.called(1, 'plugin_not_found_error');
        throw new CredentialError(
          `exec: executable ${command} not found${installHint === '' ? '' : `\n\n${installHint}`}`,
        );
      case 'failed':
        this.#metrics.called(1, 'client_internal_error');
        throw new CredentialError(`exec: executable ${command}: ${result.reason}`);
      case 'ended': {
        const failed = result.code !== 0;
        this.#metrics.called(result.code, failed ? 'plugin_execution_error' : 'no_error');
        if (failed) throw new CredentialError(`exec: executable ${command} failed with exit code ${result.code}`);
        return credentialIn(result.stdout, this.#config.apiVersion);
      }
      default:
        return result satisfies never;
    }
  }

  #interactive(): boolean {
    const { interactiveMode, command } = this.#config;
    const { terminal } = this.#surroundings.plugins;
    if (interactiveMode === 'Never') return false;
    if (interactiveMode === 'Always' && !terminal) {
      throw new CredentialError(`exec: ${command} needs input from the user, but standard input is not a terminal`);
    }
    return terminal;
  }

  async #info(interactive: boolean): Promise<unknown> {
    const { apiVersion, provideClusterInfo } = this.#config;
    const spec = { ...(provideClusterInfo ? { cluster: await this.#cluster() } : {}), interactive };
    return { kind: 'ExecCredential', apiVersion, spec };
  }

  async #cluster(): Promise<unknown> {
    const { cluster, proxy, readFile } = this.#surroundings;
    const ca = inlineOrFile(cluster, 'certificate-authority');
    const bytes = ca.file === undefined ? ca.inline : await readFile(ca.file);
    const { extension } = cluster.extensions?.find(({ name }) => name === `${group(this.#config.dialect)}/exec`) ?? {};
    return {
      server: cluster.server,
      'tls-server-name': cluster['tls-server-name'],
      'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'] === true ? true : undefined,
      'certificate-authority-data': bytes?.toString('base64'),
      'proxy-url': proxy?.href,
      'disable-compression': cluster['disable-compression'] === true ? true : undefined,
      // Null if the file has no such extension, so that plugins need not test for its presence.
      config: extension ?? null,
    };
  }
}

function credentialIn(stdout: string, apiVersion: string): Credential {
  let value: unknown;
  try {
    value = readYAML(stdout).value;
  } catch (error) {
    throw new CredentialError(`exec: decoding stdout: ${messageOf(error)}`, { cause: error });
  }
  if (!isRecord(value) || value['kind'] !== 'ExecCredential') {
    throw new CredentialError('exec: decoding stdout: the plugin printed no ExecCredential');
  }
  if (value['apiVersion'] !== apiVersion) {
    throw new CredentialError(
      `exec: plugin is configured to use API version ${apiVersion}, it returned version ${String(value['apiVersion'])}`,
    );
  }
  const { status } = value;
  if (!isRecord(status)) throw new CredentialError("exec: the plugin didn't return a status field");
  const text = (field: string): string => {
    const fieldValue = status[field] ?? '';
    if (typeof fieldValue !== 'string')
      throw new CredentialError(`exec: decoding stdout: status.${field} is not a string`);
    return fieldValue;
  };
  const token = text('token');
  const cert = text('clientCertificateData');
  const key = text('clientKeyData');
  if (token === '' && cert === '' && key === '') {
    throw new CredentialError("exec: the plugin didn't return a token or cert/key pair");
  }
  if ((cert === '') !== (key === '')) {
    throw new CredentialError('exec: the plugin returned only certificate or key, not both');
  }
  if (cert !== '') validity(cert);
  const expires = text('expirationTimestamp');
  const expiresAtMs = expires === '' ? undefined : Date.parse(expires);
  if (Number.isNaN(expiresAtMs)) throw new CredentialError(`exec: ${JSON.stringify(expires)} is not a time`);
  return { token, certificate: cert === '' ? undefined : { cert, key }, expiresAtMs };
}

function validity(pem: string): { fromMs: number; untilMs: number } {
  try {
    const { validFrom, validTo } = new X509Certificate(pem);
    return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
  } catch (error) {
    throw new CredentialError(`exec: the plugin returned a bad certificate: ${messageOf(error)}`, { cause: error });
  }
}
