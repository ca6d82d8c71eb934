/** Objects of `configMapGenerator` and `secretGenerator`, and the hashes of their content. */

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { configKeyErrors, envVarNameErrors } from '#apimachinery/validation/names.js';
import type { Folder } from '#cmd/orchctl/kustomize/files.js';
import { newResource, type Resource } from '#cmd/orchctl/kustomize/identity.js';
import type { Generator, GeneratorOptions } from '#cmd/orchctl/kustomize/kustomization.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a CommandError. @param env Gives values to names that stand alone in files of variables. */
export async function generate(
  kind: 'ConfigMap' | 'Secret',
  generator: Generator,
  common: GeneratorOptions,
  { folder, env }: { readonly folder: Folder; readonly env: Environment },
): Promise<Resource> {
  const { name = '', namespace = '', behavior = 'create' } = generator;
  if (name === '') throw new CommandError('a configmap must have a name');
  const options = mergedOptions(generator.options, common);
  const data = await dataOf(generator, folder, env);
  const hasMembers = (map: object | undefined) => map !== undefined && Object.keys(map).length > 0;
  const object: JsonObject = {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      ...(namespace === '' ? {} : { namespace }),
      ...(hasMembers(options.labels) ? { labels: { ...options.labels } } : {}),
      ...(hasMembers(options.annotations) ? { annotations: { ...options.annotations } } : {}),
    },
    ...(kind === 'Secret' ? secretContent(data, generator.type) : configContent(data)),
    ...(options.immutable === true ? { immutable: true } : {}),
  };
  return newResource(object, { behavior, needsHash: options.disableNameSuffixHash !== true });
}

function mergedOptions(own: GeneratorOptions = {}, common: GeneratorOptions): GeneratorOptions {
  return {
    labels: { ...common.labels, ...own.labels },
    annotations: { ...common.annotations, ...own.annotations },
    disableNameSuffixHash: own.disableNameSuffixHash === true || common.disableNameSuffixHash === true,
    immutable: own.immutable === true || common.immutable === true,
  };
}

function configContent(pairs: ReadonlyMap<string, Buffer>): JsonObject {
  const data: JsonObject = {};
  const binaryData: JsonObject = {};
  for (const [key, value] of pairs) {
    if (isUtf8(value)) data[key] = value.toString('utf8');
    else binaryData[key] = wrappedBase64(value);
  }
  return {
    ...(Object.keys(data).length === 0 ? {} : { data }),
    ...(Object.keys(binaryData).length === 0 ? {} : { binaryData }),
  };
}

function secretContent(pairs: ReadonlyMap<string, Buffer>, type = 'Opaque'): JsonObject {
  return { type, data: Object.fromEntries([...pairs].map(([key, value]) => [key, wrappedBase64(value)])) };
}

const lineLength = 70;

/** Values that are longer than one line end with a line break. */
function wrappedBase64(value: Buffer): string {
  const text = value.toString('base64');
  if (text.length < lineLength) return text;
  return (text.match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? []).map((line) => `${line}\n`).join('');
}

async function dataOf(generator: Generator, folder: Folder, env: Environment): Promise<Map<string, Buffer>> {
  const { name = '', literals = [], files = [], envs = [], env: oldEnv } = generator;
  const pairs: [string, Buffer][] = [];
  for (const path of [...envs, ...(oldEnv === undefined ? [] : [oldEnv])]) {
    pairs.push(...variablesIn(await folder.read(path), env));
  }
  for (const literal of literals) pairs.push(literalPair(literal));
  for (const source of files) pairs.push(await filePair(source, folder));
  const data = new Map<string, Buffer>();
  for (const [key, value] of pairs) {
    const [fault] = configKeyErrors(key);
    if (fault !== undefined)
      throw new CommandError(`loading KV pairs: invalid data key ${JSON.stringify(key)}: ${fault}`);
    if (data.has(key)) throw new CommandError(`configmap ${name} illegally repeats the key \`${key}\``);
    data.set(key, value);
  }
  return data;
}

function literalPair(source: string): [string, Buffer] {
  const at = source.indexOf('=');
  if (at <= 0) throw new CommandError(`invalid literal source ${source}, expected key=value`);
  const value = source.slice(at + 1);
  const isQuoted = /^(["']).*\1$/s.test(value);
  return [source.slice(0, at), Buffer.from(isQuoted ? value.slice(1, -1) : value)];
}

async function filePair(source: string, folder: Folder): Promise<[string, Buffer]> {
  const [first = '', path, more] = source.split('=');
  if (more !== undefined) throw new CommandError("key names or file paths cannot contain '='");
  if (path === undefined) return [basename(source), await folder.read(source)];
  if (first === '') throw new CommandError(`key name for file path ${path} missing`);
  if (path === '') throw new CommandError(`file path for key name ${first} missing`);
  return [first, await folder.read(path)];
}

function variablesIn(content: Buffer, env: Environment): [string, Buffer][] {
  const lines = content
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split(/\r?\n/);
  return lines
    .map((line) => line.trimStart())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const at = line.indexOf('=');
      const key = at < 0 ? line : line.slice(0, at);
      const [fault] = envVarNameErrors(key);
      if (fault !== undefined) throw new CommandError(`${JSON.stringify(key)} is not a valid key name: ${fault}`);
      return [key, Buffer.from(at < 0 ? (env[key] ?? '') : line.slice(at + 1))];
    });
}

const hashLength = 10;
/** Characters that could form words give way to others. */
const replaced: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };

/** The hash of the content, as `kubectl create configmap --append-hash` computes it without the name. */
export function contentHash(object: JsonObject): string {
  const { kind, type = '', data = '', binaryData, stringData } = object;
  const content =
    kind === 'Secret'
      ? { kind, type, name: '', data, ...(stringData === undefined ? {} : { stringData }) }
      : kind === 'ConfigMap'
        ? { kind, name: '', data, ...(binaryData === undefined ? {} : { binaryData }) }
        : object;
  const hex = createHash('sha256').update(goJSON(content)).digest('hex');
  return [...hex.slice(0, hashLength)].map((character) => replaced[character] ?? character).join('');
}
