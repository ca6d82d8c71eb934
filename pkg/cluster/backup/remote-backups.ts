/**
 * Backups in a bucket: the files of a backup are objects `PREFIX/NAME/FILE`. `SHA256SUMS` is stored last and removed first,
 * so that a backup is there or not.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { isBackupName, sumsFile, verifyBackup } from '#cluster/backup/contents.js';
import { Bucket } from '#cluster/backup/s3/bucket.js';
import type { s3Options } from '#cluster/backup/s3/options.js';
import type { S3Credentials } from '#cluster/backup/s3/signature.js';
import { OptionsError, type OptionValues } from '#daemon/options/option.js';

const scheme = 's3://';
/** Files of a backup: the store, the settings, and some dozens of keys. */
const maxFiles = 1000;
/** The largest database of etcd with the quota that it recommends at most, twice. */
const maxFileBytes = 16 * 1024 ** 3;

/** Whether a place for backups is a bucket. */
export function isBucketAddress(place: string): boolean {
  return place.startsWith(scheme);
}

export interface RemoteContext {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
}

export class RemoteBackups {
  readonly #bucket: Bucket;
  readonly #address: string;
  /** Empty, or with a slash at its end. */
  readonly #prefix: string;

  /**
   * @param address `s3://BUCKET` or `s3://BUCKET/PREFIX`.
   * Throws an OptionsError for a malformed address, and without credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
   */
  constructor(address: string, values: OptionValues<typeof s3Options>, { env, clock }: RemoteContext) {
    const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/*$/.exec(address) ?? [];
    if (bucket === undefined) throw new OptionsError([`--to: expected s3://BUCKET/PREFIX, got ${address}`]);
    const region = values['s3-region'] ?? env['AWS_REGION'] ?? 'us-east-1';
    const endpoint = values['s3-endpoint'] ?? `https://s3.${region}.amazonaws.com`;
    if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
      throw new OptionsError([`--s3-endpoint: expected https://HOST or http://HOST, got ${endpoint}`]);
    const credentials = credentialsOf(env);
    this.#bucket = new Bucket({ endpoint: new URL(endpoint), region, bucket, credentials, clock });
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#address = `${scheme}${bucket}/${this.#prefix}`;
  }

  /** Complete backups, oldest first. Rejects with a BucketError. */
  async names(): Promise<string[]> {
    const end = `/${sumsFile}`;
    const keys = await this.#bucket.list(this.#prefix);
    return keys
      .filter((key) => key.endsWith(end))
      .map((key) => key.slice(this.#prefix.length, -end.length))
      .filter(isBackupName)
      .sort();
  }

  /** Resolves with the address of the stored backup. */
  async store(folder: string, name: string): Promise<string> {
    const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .sort((a, b) => Number(a === sumsFile) - Number(b === sumsFile));
    for (const file of files) await this.#bucket.put(`${this.#prefix}${name}/${file}`, join(folder, file));
    return `${this.#address}${name}`;
  }

  /** Copies a backup into `into/NAME` and verifies it. Resolves with that folder. */
  async fetch(name: string, into: string): Promise<string> {
    const prefix = `${this.#prefix}${name}/`;
    const files = (await this.#bucket.list(prefix)).map((key) => key.slice(prefix.length));
    if (!isBackupName(name) || !files.includes(sumsFile))
      throw new OptionsError([`there is no backup ${this.#address}${name}`]);
    const foreign = files.find((file) => !/^[\w.-]+(?:\/[\w.-]+)*$/.test(file) || file.split('/').includes('..'));
    if (foreign !== undefined || files.length > maxFiles)
      throw new OptionsError([
        `${this.#address}${name} is no backup: it has ${foreign ?? `more than ${maxFiles} files`}`,
      ]);
    const folder = join(into, name);
    const partial = `${folder}.partial`;
    await rm(partial, { recursive: true, force: true });
    for (const file of files) {
      const target = join(partial, file);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await this.#bucket.get(`${prefix}${file}`, target, maxFileBytes);
    }
    await verifyBackup(partial);
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
    return folder;
  }

  /** Removes all complete backups but the newest, and resolves with their names. */
  async prune(keep: number): Promise<string[]> {
    const names = (await this.names()).slice(0, -keep);
    for (const name of names) {
      const prefix = `${this.#prefix}${name}/`;
      await this.#bucket.remove(`${prefix}${sumsFile}`);
      for (const key of await this.#bucket.list(prefix)) await this.#bucket.remove(key);
    }
    return names;
  }
}

function credentialsOf(env: NodeJS.ProcessEnv): S3Credentials {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = env;
  if (!accessKeyId || !secretAccessKey)
    throw new OptionsError(['a bucket needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY']);
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}
